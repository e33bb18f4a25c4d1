#!/usr/bin/env bash
# What a guest with software RDMA needs: modules in the order in which they are loaded, two programs, the adapter's library, and all
# that these load. usage: rdma_files.sh BINARY MODULES FOLDER
set -euo pipefail
binary=$1 modules=$2 folder=$3

rm -rf "$folder"
mkdir -p "$folder/modules" "$folder/bin" "$folder/etc/libibverbs.d"
number=10
for name in udp_tunnel ip6_udp_tunnel crc32_generic ib_core ib_uverbs rdma_rxe dummy; do
    # A kernel may have one of them built in: if one is missing that is needed, loading the next says so.
    for file in "$modules/$name".ko*; do
        case $file in
            *.ko) cp "$file" "$folder/modules/$number-$name.ko" ;;
            *.ko.xz) xz -dc "$file" >"$folder/modules/$number-$name.ko" ;;
        esac
    done
    number=$((number + 1))
done
programs=("$(command -v ip || echo /sbin/ip)" "$(command -v rdma || echo /sbin/rdma)")
cp -L "${programs[@]}" "$folder/bin"
cp /etc/libibverbs.d/rxe.driver "$folder/etc/libibverbs.d"
provider=$(ls /usr/lib/*/libibverbs/librxe-*.so)
for file in $(ldd "$binary" "${programs[@]}" "$provider" | grep -o '/[^ :]*\.so[^ :]*' | sort -u) "$provider"; do
    mkdir -p "$folder$(dirname "$file")"
    cp -L "$file" "$folder$file"
done
