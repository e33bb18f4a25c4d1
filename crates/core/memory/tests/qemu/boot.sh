#!/usr/bin/env bash
# Boots a static binary as init of an emulated machine: 8 CPUs on 4 NUMA nodes of 512 MiB, two and two of them near each other.
# usage: boot.sh BINARY KERNEL FOLDER [FILES]: what is in the folder FILES is in the guest. The verdict is what the guest prints: TEST PASS.
set -euo pipefail
binary=$1 kernel=$2 folder=$3 files=${4:-}

rm -rf "$folder/root"
mkdir -p "$folder/root/dev"
[ -z "$files" ] || cp -R "$files/." "$folder/root"
cp "$binary" "$folder/root/init"
(cd "$folder/root" && find . | cpio -o -H newc --quiet | gzip -1) >"$folder/initrd"

nodes=()
for node in 0 1 2 3; do
    nodes+=(-object "memory-backend-ram,id=m$node,size=512M")
    nodes+=(-numa "node,nodeid=$node,cpus=$((2 * node))-$((2 * node + 1)),memdev=m$node")
done
for pair in 0-1-16 0-2-32 0-3-32 1-2-32 1-3-32 2-3-16; do
    IFS=- read -r from to distance <<<"$pair"
    nodes+=(-numa "dist,src=$from,dst=$to,val=$distance")
done

# On a busy host it may take minutes: only a guest that hangs takes longer than this.
# The accelerator is named, because elsewhere the default may be an accelerator that is not there; the exit code says nothing about the test.
timeout 600 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -machine q35 -nodefaults -no-user-config \
    -display none -serial stdio -no-reboot -smp 8 -m 2G "${nodes[@]}" \
    -kernel "$kernel" -initrd "$folder/initrd" -append "console=ttyS0 panic=-1 quiet" \
    </dev/null | tee "$folder/serial.log"
grep -q 'TEST PASS' "$folder/serial.log"
