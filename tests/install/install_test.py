"""install_test.py BUILD CONSUMER COMPILER: installs BUILD, then builds CONSUMER against what was installed."""
import os
import shutil
import subprocess
import sys
import tempfile


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(condition, sentence):
    if not condition:
        sys.exit(sentence)


def dynamic_needs(program):
    return [line for line in run("readelf", "-d", "-l", program).splitlines() if "NEEDED" in line or "INTERP" in line]


def main(build, consumer, compiler):
    scratch = tempfile.mkdtemp(prefix="install-test-")
    try:
        prefix = os.path.join(scratch, "prefix")
        run("cmake", "--install", build, "--prefix", prefix, "--strip")
        for name, folder in (("cloche", "bin"), ("cloche-init", "libexec/cloche")):
            installed = os.path.join(prefix, folder, name)
            if os.path.exists(os.path.join(build, name)):
                expect(os.access(installed, os.X_OK), f"{folder}/{name} was not installed")
                expect(not dynamic_needs(installed), f"{folder}/{name} is not static: {dynamic_needs(installed)}")
        target = os.path.join(scratch, "build")
        run("cmake", "-S", consumer, "-B", target, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_CXX_COMPILER={compiler}")
        run("cmake", "--build", target)
        run(os.path.join(target, "consumer"))
        needs = "".join(dynamic_needs(os.path.join(target, "consumer")))
        expect("fmt" not in needs, f"who links libcloche.a needs fmt, too: {needs}")
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main(*sys.argv[1:])
