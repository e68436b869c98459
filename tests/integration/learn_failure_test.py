"""`cloche learn` of a command that fails: what it says, and what it advises (X5)."""
from learn_case import LearnCase


class LearnFailure(LearnCase):
    def failed(self, *words, code=1, **more):
        done = self.learn(*words, **more)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        return done.stderr.splitlines()[-1]

    def test_X5_what_is_given_already_is_not_advised(self):
        self.assertIn("--any-exit takes this one", self.failed("--", "false"))
        for words in ([], ["--any-exit"]):
            with self.subTest(words=words):
                told = self.failed(*words, "--", "sh", "-c", "kill -9 $$")
                self.assertIn("killed by signal 9 (SIGKILL)", told)
                self.assertNotIn("--any-exit takes this one", told)

    def test_X5_a_limit_is_advised_for_a_limit(self):
        told = self.failed("--wall", "500ms", "--", "sleep", "9")
        self.assertIn("--wall gives it more", told)
        self.assertNotIn("--any-exit", told)

    def test_X5_variables_that_were_withheld_are_named(self):
        env = {**self.env, "FOO_TOKEN": "CANARY-FOO"}
        command = ("--", "sh", "-c", 'test -n "$FOO_TOKEN"')
        told = self.failed(*command, env=env)
        self.assertIn("withheld as secret-like: API_TOKEN, FOO_TOKEN (--pass", told)
        self.assertNotIn("CANARY", told)
        self.assertIn("secret-like: FOO_TOKEN (", self.failed("--pass", "API_TOKEN", *command, env=env))
        self.assertNotIn("FOO_TOKEN", self.failed("--env", "FOO_TOKEN=", *command, env=env))
        done = self.learn("--pass", "FOO_TOKEN", *command, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
