//! XML, which is a feature.

#[cfg(feature = "xml")]
mod with {
    use actinium_wire::{Encoding, Limits};
    use serde::de::DeserializeOwned;
    use serde::{Deserialize, Serialize};
    use std::fmt::Debug;

    fn refused<M: DeserializeOwned + Debug>(bytes: &[u8]) -> String {
        let decoded = Encoding::Xml.decode_slice::<M>(bytes, &Limits::default());
        decoded.expect_err("it is refused").to_string()
    }

    #[test]
    fn an_error_says_where() {
        #[derive(Debug, Deserialize)]
        struct Point {
            #[expect(dead_code, reason = "it is never read")]
            x: u32,
            #[expect(dead_code, reason = "it is never read")]
            y: bool,
        }
        assert_eq!(
            refused::<Point>(b"<message><x>1</y></message>"),
            "xml message, offset 17: expected well-formed XML, found ill-formed document: expected `</x>`, but `</y>` was found"
        );
        assert_eq!(
            refused::<Point>(b"<message><x>1</x><y>no</y></message>"),
            "xml message, offset 26: expected true or false, found 'no'"
        );
    }

    #[test]
    fn what_has_no_element_is_an_error_and_leaves_nothing_behind() {
        #[derive(Serialize)]
        struct Odd {
            #[serde(rename = "a b")]
            field: u8,
        }
        let mut out = vec![1, 2];
        let error = Encoding::Xml.encode(&Odd { field: 1 }, &mut out).expect_err("no such element");
        assert_eq!(
            (error.to_string().as_str(), out.as_slice()),
            (
                "xml can not say this message: 'a b' is no name for an element in XML",
                [1, 2].as_slice()
            )
        );
    }

    #[test]
    fn xml_of_others_is_read() {
        let text = "<?xml version=\"1.0\"?>\n<!-- hand-made -->\n<order>\n  <id> 7 </id>\n  \
            <name>A &amp; B<![CDATA[ <C>]]>&#33;</name>\n</order>\n";
        #[derive(Debug, PartialEq, Deserialize)]
        struct Order {
            id: u8,
            name: String,
        }
        let order: Order =
            Encoding::Xml.decode_slice(text.as_bytes(), &Limits::default()).expect("it is read");
        assert_eq!(order, Order { id: 7, name: "A & B <C>!".to_owned() });
        let error = refused::<u8>(b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>");
        assert!(error.contains("expected no document type"), "{error}");
    }
}

#[cfg(not(feature = "xml"))]
mod without {
    use actinium_wire::{Encoding, Limits, Options};

    #[test]
    fn it_is_not_offered_and_says_why_it_can_not_be_used() {
        assert!(!Options::default().encodings.contains(&Encoding::Xml));
        let missing = "this program was built without";
        assert!("xml".parse::<Encoding>().expect_err("it is off").starts_with(missing));
        let mut out = Vec::new();
        let error = Encoding::Xml.encode(&1_u8, &mut out).expect_err("it is off");
        assert!(error.to_string().contains(missing) && out.is_empty(), "{error}");
        let error = Encoding::Xml.decode_slice::<u8>(b"<message>1</message>", &Limits::default());
        assert!(error.expect_err("it is off").to_string().contains(missing));
    }
}
