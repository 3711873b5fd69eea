#!/bin/sh
# test_systems.sh: the project on systems that hold nothing else: each system is set up by mmdebstrap,
# and the commands that src/docs/install.md lists for it run there: they install the packages, build
# and install. A program is compiled against the result. Then the Debian packages are built, and apt
# installs them on a second such system, where the same program is compiled, and runs.
#
# Usage: test_systems.sh [SUITE...], such as bookworm (Debian 12), trixie (Debian 13) or noble (Ubuntu
# 24.04); bookworm and noble where none is named. Needs mmdebstrap, and root or user namespaces. Exit
# code: 77 where mmdebstrap is missing or no mirror answers; nothing else is written than a folder that
# is removed.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || set -- bookworm noble
command -v mmdebstrap >/dev/null || {
    echo "test_systems.sh: there is no mmdebstrap: nothing is tested"
    exit 77
}
work=$(mktemp -d "${TMPDIR:-/tmp}/gridsweep-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
tar -C "$root" --exclude=./build --exclude=./.git -cf "$work/source.tar" .

# The key of Ubuntu's archive: Debian may not have it. The package that brings it is known by its hash.
ubuntu_key() {
    key=/usr/share/keyrings/ubuntu-archive-keyring.gpg
    [ ! -f $key ] || return 0
    key=$work/keyring/usr/share/keyrings/ubuntu-archive-keyring.gpg
    [ ! -f "$key" ] || return 0
    python3 - "$work/keyring.deb" <<'PYTHON'
import hashlib, sys, urllib.request
url = "http://archive.ubuntu.com/ubuntu/pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb"
data = urllib.request.urlopen(url, timeout=60).read()
assert hashlib.sha256(data).hexdigest() == "36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8"
open(sys.argv[1], "wb").write(data)
PYTHON
    dpkg -x "$work/keyring.deb" "$work/keyring"
}

# system SUITE PACKAGES HOOK...: sets a system up with these packages, runs the hooks there, removes it.
system() {
    suite=$1
    shift
    case $suite in
    bookworm | trixie | sid) set -- "$@" "$suite" - ;;
    *)
        set -- "$@" --components=main,universe --keyring="$key" "$suite" - \
            http://archive.ubuntu.com/ubuntu
        ;;
    esac
    packages=$1
    shift
    mmdebstrap --quiet --variant=minbase --format=null --include="$packages" "$@" \
        >"$work/$suite.log" 2>&1 || {
        cat "$work/$suite.log" >&2
        return 1
    }
}

# The row of a suite in the table: the names of the packages, and the commands that build and install.
row() {
    sed -n "s/^| [^|]*(\`$1\`)[^|]*|//p" "$root/src/docs/install.md"
}
