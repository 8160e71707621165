#!/bin/sh
# Installs the named kinds of packages where they are missing, and says so: packages.sh build [test] [editors] [fuzz].
# On Debian, as root; elsewhere it names what is missing and goes on.
set -u

build="gcc libc6-dev make pkg-config libuv1-dev libcjson-dev libprotobuf-c-dev protobuf-c-compiler libsqlite3-dev libxxhash-dev python3"
test="libcmocka-dev libegl1 libgl1-mesa-dri"
editors="neovim"
fuzz="clang-14 libclang-rt-14-dev"

missing=""
for kind in "$@"; do
    eval "wanted=\$$kind"
    for package in $wanted; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || missing="$missing $package"
    done
done
# A compiler or a make that did not come as a package serves as well.
for tool in gcc make python3 pkg-config; do
    command -v $tool >/dev/null 2>&1 && missing=$(echo " $missing " | sed "s/ $tool / /")
done
missing=$(echo $missing)
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" != 0 ]; then
    echo "missing: $missing (install them with the system's package manager)"
    exit 0
fi
echo "installing what is missing: $missing"
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends $missing >/dev/null 2>&1 ||
    { apt-get update >/dev/null && apt-get install -y --no-install-recommends $missing >/dev/null; } ||
    { echo "could not install: $missing"; exit 1; }
