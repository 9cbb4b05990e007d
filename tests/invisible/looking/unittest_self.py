import sys
import unittest


class Tests(unittest.TestCase):
    def test_good(self):
        self.assertEqual(1 + 1, 2)

    def test_fails(self):
        values = [1, 2]
        self.assertEqual(values, [1, 3])

    def test_errors(self):
        {}["missing"]

    @unittest.expectedFailure
    def test_expected(self):
        self.fail("meant")

    def test_sub(self):
        for i in range(2):
            with self.subTest(i=i):
                self.assertTrue(i)

    def test_raises_and_warns(self):
        import warnings

        with self.assertWarns(UserWarning) as w, self.assertRaisesRegex(ValueError, "b.d"):
            warnings.warn("x", stacklevel=1)
            raise ValueError("bad")
        self.assertEqual(w.filename, __file__)


class Result(unittest.TextTestResult):
    pass


unittest.main(
    testRunner=unittest.TextTestRunner(sys.stdout, verbosity=2, resultclass=Result, durations=None)
    if False
    else unittest.TextTestRunner(stream=open("result.txt", "w")),
    argv=["x"],
    exit=False,
)
text = open("result.txt").read()
print(text[: text.index("Ran ")])
