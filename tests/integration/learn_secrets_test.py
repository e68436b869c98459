"""`cloche learn` and places of secrets: they are neither shown nor granted, however a command gets at them (X5)."""
import os

from learn_case import LearnCase


def rules(text):
    """The policy's text without its comments."""
    return "".join(line for line in text.splitlines(True) if not line.startswith("#"))


class LearnSecrets(LearnCase):
    def learnt(self, *words):
        done = self.learn(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def script(self, name, text):
        path = self.path("project/" + name, text)
        os.chmod(path, 0o755)
        return path

    def key_in(self, folder):
        os.makedirs(self.path(folder + "/.ssh"))
        return self.path(folder + "/.ssh/id_rsa", "CANARY\n")

    def test_X5_a_first_line_that_names_a_directory_grants_nothing(self):
        # It covers what the command needs, so nothing else would be left of the policy.
        self.script("build.sh", f"#!{self.folder}\n")
        self.path("project/build", "./build.sh 2> /dev/null\ncat data/one\n")
        text, _ = self.learnt("--", "sh", "build")
        self.assertNotIn(f'"{self.folder}"', text)
        self.assertIn(f'"{self.project}/data/one"', text)

    def test_X5_a_directory_with_keys_somewhere_below_is_not_granted(self):
        self.key_in("home/backup/old/deep")
        self.path("home/backup/old/note", "a note\n")
        old = self.path("home/backup/old")
        text, told = self.learnt("--any-exit", "--", "sh", "-c", f"ls {old}; cat {old}/note; cat {old}/deep/.ssh/id_rsa >&2")
        self.assertNotIn(f'"{old}"', text)
        self.assertNotIn(f'"{old}/deep"', text)
        self.assertIn(f'"{old}/note"', text)
        self.assertNotIn("CANARY", told)

    def test_X5_nothing_of_it_is_in_view(self):
        self.key_in("home/backup/old/deep/er")
        self.key_in("project/sub/dir")
        done = self.learn("--", "sh", "-c", f"cat {self.path('home')}/backup/old/deep/er/.ssh/* sub/dir/.ssh/* >&2; exit 9")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("CANARY", done.stderr)
        self.assertIn("--workspace", done.stderr)
        # Whoever names the directory means it.
        text, _ = self.learnt("--workspace", ".", "--", "sh", "-c", "cat sub/dir/.ssh/id_rsa; echo x > new")
        self.assertIn("workspace", rules(text))

    def test_X5_where_a_link_of_such_a_name_leads_is_one_too(self):
        os.makedirs(self.path("home/dotfiles/aws"))
        self.path("home/dotfiles/aws/credentials", "CANARY\n")
        os.symlink("dotfiles/aws", self.path("home/.aws"))
        dots = self.path("home/dotfiles")
        text, told = self.learnt("--any-exit", "--", "sh", "-c", f"ls {dots}; cat {dots}/aws/credentials >&2; cat {dots}/aws/* >&2")
        self.assertNotIn("dotfiles", rules(text))
        self.assertIn("dotfiles/aws/credentials: it holds secrets", text)
        self.assertNotIn("CANARY", told)

    def test_X5_a_directory_that_is_too_large_to_be_searched_is_not_granted_as_a_whole(self):
        large = self.path("home/large")
        os.makedirs(large + "/sub")
        for number in range(20_100):
            os.close(os.open(f"{large}/sub/{number}", os.O_CREAT | os.O_WRONLY, 0o644))
        self.path("home/large/note", "a note\n")
        text, _ = self.learnt("--any-exit", "--", "sh", "-c", f"ls {large} > /dev/null; cat {large}/note; echo x > {large}/new")
        self.assertNotIn(f'"{large}"', text)
        self.assertIn(f'"{large}/note"', text)
        self.assertNotIn("workspace", rules(text))

    def test_X5_what_cloche_keeps_is_neither_shown_nor_granted(self):
        home, state = self.path("home"), self.path("home/kept/state")
        os.makedirs(state + "/runs", 0o700)
        os.makedirs(home + "/.config/cloche")
        os.makedirs(home + "/.local/state/cloche")
        os.makedirs(home + "/run/cloche", 0o700)
        places = [state, home + "/.config/cloche", home + "/.local/state/cloche", home + "/run/cloche"]
        for place in places:
            with open(place + "/note", "w", encoding="utf-8") as file:
                file.write("CANARY\n")
        env = {**self.env, "CLOCHE_STATE_DIR": state, "XDG_RUNTIME_DIR": home + "/run"}
        reads = "; ".join(f"cat {place}/note >&2; ls {place}/..; echo x > {place}/new" for place in places)
        for direct in ([], ["--direct"]):
            done = self.learn(*direct, "--", "sh", "-c", reads + "; true", env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("CANARY", done.stderr)
            for word in ("state", "cloche", home + '/run"', home + '/kept"'):
                self.assertNotIn(word, rules(done.stdout))
            self.assertIn(f"read {state}/note: it holds secrets", done.stdout)

    def test_X5_a_program_in_a_place_of_secrets_is_not_started(self):
        program = self.path("home/.ssh/program", "#!/bin/sh\necho CANARY\n")
        os.chmod(program, 0o755)
        done = self.learn("--", program)
        self.assertEqual((done.returncode, done.stdout), (126, ""), done.stderr)
        self.assertIn(f"exec {program}: it holds secrets", done.stderr)

    def test_X5_tokens_of_agents_and_keys_in_projects_are_neither_shown_nor_granted(self):
        home = self.path("home")
        os.symlink("home", self.path("way-home"))
        kept = [home + "/" + name for name in (".claude.json", ".claude/.credentials.json", ".codex/auth.json", ".env.local",
                                               ".config/gh/hosts.yml", ".config/github-copilot/hosts.json", "keys/server.key",
                                               "keys/id_ed25519_work", ".local/share/fish/fish_history", "w/x.kdbx")]
        for path in kept + [self.project + "/.env", home + "/keys/cacert.pem"]:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write("CANARY\n" if "cacert" not in path else "public\n")
        reads = "; ".join(f"cat {path} >&2" for path in kept)
        for env in (self.env, {**self.env, "HOME": self.path("way-home")}):
            for way in (home, self.path("way-home")):
                done = self.learn("--any-exit", "--", "sh", "-c",
                                  reads.replace(home, way) + f"; cat .env >&2; cat {home}/keys/cacert.pem; ls {home}/keys; exit 0",
                                  env=env)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("CANARY", done.stderr)
                self.assertIn(f'"{home}/keys/cacert.pem"', rules(done.stdout))
                for path in kept + [home, home + "/keys", home + "/.config", home + "/w", self.project]:
                    self.assertNotIn(f'"{path}"', rules(done.stdout).replace(f'cwd = "{self.project}"', ""))
                    self.assertNotIn(f'"{path.replace(home, way)}"', rules(done.stdout).replace(f'cwd = "{self.project}"', ""))
