//! What a program does so that OpenTelemetry's spans have the ids of Actinium's: to be copied.
//!
//! It is not for programs to depend on: OpenTelemetry's crates break with each release. The test of
//! this crate sends the spans of two nodes by OTLP, and decodes them (`--features otlp`).
#![cfg(feature = "otlp")]

use actinium::trace;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Gives the runtime's spans their own ids, and all others random ones. For
/// `SdkTracerProvider::builder().with_id_generator(..)`.
#[derive(Debug, Default)]
pub struct Ids(RandomIdGenerator);

impl IdGenerator for Ids {
    fn new_trace_id(&self) -> TraceId {
        let made = trace::span_being_made();
        made.map_or_else(|| self.0.new_trace_id(), |(span, _)| span.trace_id().into())
    }

    fn new_span_id(&self) -> SpanId {
        let made = trace::span_being_made();
        made.map_or_else(|| self.0.new_span_id(), |(span, _)| span.span_id().into())
    }
}

/// Gives each span of the runtime the parent that the runtime knows, on whichever node that is.
/// Call it once, before any system is built.
pub fn set_parents() {
    trace::on_tracing_span(|span, it| {
        let Some(parent) = it.parent else { return };
        let parent = SpanContext::new(
            it.context.trace_id().into(),
            parent.into(),
            TraceFlags::SAMPLED,
            true,
            TraceState::default(),
        );
        // A subscriber that is not OpenTelemetry's has no such parent.
        let _ = span.set_parent(opentelemetry::Context::new().with_remote_span_context(parent));
    });
}
