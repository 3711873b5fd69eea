"""Builds src/packaging/conda/recipe.yaml with rattler-build, and lets it test the package.

No channel is needed: the system's compiler, CMake, Ninja, pkg-config, libcjson and zlib stand in for the
packages that the recipe names, as packages of a channel that is made here.

    sh tests/test_conda.sh      # or: pip install py-rattler-build && python3 tests/run_conda.py
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import rattler_build

ROOT = Path(__file__).resolve().parent.parent
PLATFORM = "linux-64"


def system(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def stand_in(channel, folder, name, version, files):
    """A package of the channel that holds these files (contents by path); returns its row of the index."""
    staged = folder / name
    for path, content in files.items():
        target = staged / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            shutil.copy(content, target)
        else:
            target.write_text(content)
    staged.mkdir(exist_ok=True)
    made = rattler_build.assemble_package(name=name, version=version, target_platform=PLATFORM,
                                          build_string="0", output_dir=channel / PLATFORM,
                                          files_dir=staged)
    data = Path(made.path).read_bytes()
    return {Path(made.path).name: {
        "name": name, "version": version, "build": "0", "build_number": 0, "depends": [],
        "subdir": PLATFORM, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}}


def make_channel(channel, folder):
    rows = {}
    for row in stand_ins(channel, folder):
        rows.update(row)
    for platform, packages in ((PLATFORM, rows), ("noarch", {})):
        (channel / platform).mkdir(exist_ok=True)
        (channel / platform / "repodata.json").write_text(json.dumps(
            {"info": {"subdir": platform}, "packages": {}, "packages.conda": packages}))


def stand_ins(channel, folder):
    gcc = system("gcc", "-dumpfullversion")
    yield stand_in(channel, folder, f"gcc_{PLATFORM}", gcc,
             {"etc/conda/activate.d/gcc.sh": f"export CC={shutil.which('gcc')}\n"})
    yield stand_in(channel, folder, f"sysroot_{PLATFORM}", "2.28", {"share/sysroot": "the system's\n"})
    cmake = system("cmake", "--version").split()[2]
    yield stand_in(channel, folder, "cmake", cmake, {"share/cmake": "the system's\n"})
    yield stand_in(channel, folder, "ninja", system("ninja", "--version"), {"share/ninja": "the system's\n"})
    # The system's pkg-config, which looks into the environments first, as conda's does.
    yield stand_in(channel, folder, "pkg-config", system("pkg-config", "--version"),
             {"etc/conda/activate.d/pc.sh":
              'export PKG_CONFIG_PATH="${PREFIX:-$CONDA_PREFIX}/lib/pkgconfig"\n'})
    cjson = Path(system("pkg-config", "--variable=libdir", "libcjson")) / "libcjson.so.1"
    version = system("pkg-config", "--modversion", "libcjson")
    header = Path(system("pkg-config", "--variable=includedir", "libcjson"))
    header = next(p for p in (header / "cJSON.h", header / "cjson/cJSON.h") if p.is_file())
    yield stand_in(channel, folder, "cjson", version, {
        "include/cjson/cJSON.h": header,
        "lib/libcjson.so": cjson.resolve(),
        "lib/libcjson.so.1": cjson.resolve(),
        "lib/pkgconfig/libcjson.pc":
            "prefix=${pcfiledir}/../..\nName: libcjson\nDescription: cJSON\n"
            f"Version: {version}\nLibs: -L${{prefix}}/lib -lcjson\n"
            "Cflags: -I${prefix}/include -I${prefix}/include/cjson\n"})
    zlib = Path(system("pkg-config", "--variable=libdir", "zlib")) / "libz.so.1"
    headers = Path(system("pkg-config", "--variable=includedir", "zlib"))
    yield stand_in(channel, folder, "zlib", system("pkg-config", "--modversion", "zlib"), {
        "include/zlib.h": headers / "zlib.h", "include/zconf.h": headers / "zconf.h",
        "lib/libz.so": zlib.resolve(), "lib/libz.so.1": zlib.resolve()})


def main():
    with tempfile.TemporaryDirectory(prefix="gridsweep-test.") as name:
        work = Path(name)
        channel = work / "channel"
        (channel / PLATFORM).mkdir(parents=True)
        make_channel(channel, work / "staged")
        recipe = rattler_build.Stage0Recipe.from_file(ROOT / "src/packaging/conda/recipe.yaml")
        variants = rattler_build.VariantConfig(
            {"c_compiler": ["gcc"], "c_stdlib": ["sysroot"], "target_platform": [PLATFORM]})
        built = recipe.run_build(variant_config=variants, channels=[channel.as_uri()],
                                 output_dir=work / "output")
        packages = [Path(package) for result in built for package in result.packages]
        print(f"rattler-build {rattler_build.rattler_build_version()}:",
              ", ".join(package.name for package in packages))
        for package in packages:
            tests = rattler_build.Package.from_file(package).run_tests(channel=[channel.as_uri()])
            for test in tests:
                print(f"test {test.test_index}:", "passed" if test.success else "FAILED")
                if not test.success:
                    print("\n".join(test.output))
                    return 1
        return len(packages) != 1


if __name__ == "__main__":
    sys.exit(main())
