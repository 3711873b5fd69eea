#!/bin/sh
# test_systems.sh: the project on systems that hold nothing else. mmdebstrap sets a system up, and the
# commands of src/docs/install.md run there: its row installs what is missing, then all build and install.
# A program is compiled against the result with pkg-config, and runs. The Debian packages are built
# there, too; on a second such system apt installs them, and the same program is compiled and runs.
#
# Usage: test_systems.sh [SUITE...]: bookworm (Debian 12), trixie (Debian 13), noble (Ubuntu 24.04);
# bookworm and noble where none is named. Needs mmdebstrap, and root or user namespaces. Exit code: 77
# where mmdebstrap is missing or no mirror answers.
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
tar -C "$root" --exclude='./build*' --exclude=./.git -cf "$work/source.tar" .

# probe SUITE PACKAGE OPTION...: extracts one package into $work/probe. False: no mirror answers.
probe() {
    suite=$1
    package=$2
    shift 2
    rm -rf "$work/probe"
    mmdebstrap --variant=extract --include="$package" --format=directory "$@" "$suite" "$work/probe" \
        >"$work/log" 2>&1
}

# choose SUITE: sets components and keyring. Debian lacks the key of Ubuntu's archive. So it comes from
# there without a check of signatures, and has to have the hash that is known.
choose() {
    case $1 in
    bookworm | trixie)
        components=main
        keyring=/usr/share/keyrings/debian-archive-keyring.gpg
        probe "$1" base-files --keyring="$keyring"
        return
        ;;
    esac
    components=main,universe
    keyring=$work/probe/usr/share/keyrings/ubuntu-archive-keyring.gpg
    probe "$1" ubuntu-keyring --aptopt='Acquire::AllowInsecureRepositories "true"' \
        --aptopt='APT::Get::AllowUnauthenticated "true"' || return 1
    echo "80a36b0a6de2f69f49d2df75ef473ccde121e9e190b9ea01d20a4f63778d5c31  $keyring" |
        sha256sum --check --quiet
}

# system SUITE HOOK...: sets a new system up, runs mmdebstrap's hooks there and removes it. Of what is
# said, the lines that begin with "= " are shown; where something fails, everything is.
system() {
    suite=$1
    shift
    mmdebstrap --variant=minbase --include=apt --format=null --components="$components" --keyring="$keyring" \
        --aptopt='APT::Get::Assume-Yes "true"' --aptopt='APT::Install-Recommends "false"' \
        "$@" "$suite" - >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        exit 1
    }
    sed -n "s/^= /$suite: /p" "$work/log"
}

# packages SUITE: the command of the suite's row.
packages() {
    awk -F' *[|] *' -v suite="(\`$1\`)" \
        'index($2, suite) { gsub(/`/, "", $3); print $3 }' "$root/src/docs/install.md"
}

cat >"$work/use" <<'END'
cc /consumer.c -o /consumer $(pkg-config --cflags --libs gridsweep)
echo "= $(/consumer)"
gridsweep solve --problem poisson:20x20x20
END
for name in "$@"; do
    install=$(packages "$name")
    build=$(grep '^cmake -B build' "$root/src/docs/install.md") || build=
    [ -n "$install" ] && [ -n "$build" ] || {
        echo "test_systems.sh: src/docs/install.md does not list $name" >&2
        exit 1
    }
    choose "$name" || {
        echo "test_systems.sh: no mirror with $name answers: nothing is tested"
        exit 77
    }
    begin=$(date +%s)
    {
        echo "set -eux; cd /source; export CMAKE_BUILD_PARALLEL_LEVEL=2 DEBIAN_FRONTEND=noninteractive"
        echo "$install"
        echo "$build"
        echo "ldconfig"
        cat "$work/use"
        echo 'echo "= $(gridsweep --version), from source"'
        # The packages of the same build, in the folders of the system.
        echo "apt-get install dpkg-dev file"
        echo "cmake -B build -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_SKIP_INSTALL_RPATH=ON"
        echo "cmake --build build"
        echo "cpack --config build/CPackConfig.cmake -G DEB -B /packages"
        echo "rm -rf /packages/_CPack_Packages; ls /packages"
    } >"$work/from-source"
    {
        echo "set -eux; export DEBIAN_FRONTEND=noninteractive"
        echo "apt-get install gcc libc6-dev pkg-config /packages/*.deb"
        cat "$work/use"
        echo 'echo "= $(gridsweep --version), from packages"'
    } >"$work/from-packages"
    rm -rf "$work/packages"
    system "$name" --customize-hook='mkdir "$1/source"' \
        --customize-hook="tar-in $work/source.tar /source" \
        --customize-hook="copy-in $root/tests/install/consumer.c $work/from-source /" \
        --customize-hook='chroot "$1" sh /from-source' \
        --customize-hook="copy-out /packages $work"
    system "$name" --customize-hook="copy-in $work/packages $root/tests/install/consumer.c $work/from-packages /" \
        --customize-hook='chroot "$1" sh /from-packages'
    echo "$name: $(($(date +%s) - begin)) s"
done
