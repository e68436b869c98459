"""install_test.py BUILD CONSUMER EXAMPLE COMPILER: installs BUILD, then builds and runs CONSUMER and EXAMPLE against
what was installed."""
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


def build_against(prefix, source, target, compiler):
    run("cmake", "-S", source, "-B", target, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={compiler}")
    run("cmake", "--build", target)


def main(build, consumer, example, compiler):
    scratch = tempfile.mkdtemp(prefix="install-test-")
    try:
        prefix = os.path.join(scratch, "prefix")
        run("cmake", "--install", build, "--prefix", prefix, "--strip")
        for name, folder in (("cloche", "bin"), ("cloche-init", "libexec/cloche")):
            installed = os.path.join(prefix, folder, name)
            if os.path.exists(os.path.join(build, name)):
                expect(os.access(installed, os.X_OK), f"{folder}/{name} was not installed")
                expect(not dynamic_needs(installed), f"{folder}/{name} is not static: {dynamic_needs(installed)}")
        attacks = os.path.join(prefix, "libexec/cloche/attacks")
        if os.path.exists(os.path.join(build, "attacks/manifest")):
            listed = run(os.path.join(prefix, "bin/cloche"), "prove", "--list")
            expect(listed.count("\n  ") >= 100, f"the installed cloche knows too few attacks:\n{listed}")
            for name in ("bait", "48_kernel_calls"):
                expect(os.access(os.path.join(attacks, name), os.X_OK), f"attacks/{name} was not installed")
        target = os.path.join(scratch, "build")
        build_against(prefix, consumer, target, compiler)
        run(os.path.join(target, "consumer"))
        needs = "".join(dynamic_needs(os.path.join(target, "consumer")))
        expect("fmt" not in needs, f"who links libcloche.a needs fmt, too: {needs}")
        init = os.path.join(prefix, "libexec/cloche/cloche-init")
        if os.path.exists(init):
            embed = os.path.join(scratch, "embed")
            build_against(prefix, example, embed, compiler)
            said = run(os.path.join(embed, "embed"), init)
            for part in ("hello, world", "/work", "I may not read that", "outcome: exited (exit code 0)"):
                expect(part in said, f"examples/embed did not say '{part}':\n{said}")
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main(*sys.argv[1:])
