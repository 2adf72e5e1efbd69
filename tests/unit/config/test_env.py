"""Readers of the environment name the variable and the fix, no value."""

import pytest

from config.env import Env, EnvError, environment

SECRET = "s" * 32


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("true", True),
        ("YES", True),
        ("on", True),
        ("1", True),
        ("false", False),
        ("No", False),
        ("off", False),
        ("0", False),
        (" 1 ", True),
    ],
)
def test_switches(raw, expected):
    assert Env({"X": raw}).boolean("X") is expected


@pytest.mark.parametrize("raw", ["2", "y", "ja", "ture"])
def test_other_words_are_no_switches(raw):
    with pytest.raises(EnvError, match=r"^X is not a switch\. Set it to one of true"):
        Env({"X": raw}).boolean("X", True)


@pytest.mark.parametrize(
    ("raw", "bounds", "message"),
    [
        ("8.0", {}, "not a whole number"),
        ("eight", {}, "not a whole number"),
        ("0", {"minimum": 1}, "too small. Set it to 1 or more"),
        ("70000", {"maximum": 65535}, "too large. Set it to 65535 or less"),
    ],
)
def test_odd_numbers(raw, bounds, message):
    with pytest.raises(EnvError, match=f"^X is {message}"):
        Env({"X": raw}).integer("X", **bounds)


def test_bounds_are_inclusive():
    assert Env({"X": "1"}).integer("X", minimum=1, maximum=1) == 1


def test_a_choice_is_one_of_the_known_values():
    assert Env({"X": " b "}).choice("X", ["", "a", "b"], default="") == "b"
    assert Env({}).choice("X", ["", "a", "b"], default="") == ""
    with pytest.raises(EnvError, match=r"X has an unknown value. Set it to one of: a, b\."):
        Env({"X": "patient"}).choice("X", ["", "a", "b"], default="")


@pytest.mark.parametrize("read", ["text", "boolean", "integer", "secret"])
def test_missing_without_default(read):
    with pytest.raises(EnvError, match=r"^X is not set\. Set "):
        getattr(Env({}), read)("X")


def test_blank_counts_as_missing():
    assert Env({"X": "  "}).integer("X", 5) == 5


def test_lists():
    assert Env({"X": "a, b,,c "}).words("X") == ["a", "b", "c"]


@pytest.mark.parametrize(
    "address",
    ["postgresql://u@%2Frun%2Fpg/db", "postgres://localhost/db", "postgresql:///db?host=/run"],
)
def test_addresses(address):
    assert Env({"X": address}).url("X", schemes=("postgresql", "postgres")) == address


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("mysql://host/db", "must start with one of postgresql://"),
        ("localhost", "must start with one of postgresql://"),
        ("postgresql://", "names no host"),
        ("postgresql://[::1/db", "is not an address"),
    ],
)
def test_odd_addresses(raw, message):
    with pytest.raises(EnvError, match=f"^X {message}"):
        Env({"X": raw}).url("X", schemes=("postgresql",))


def test_short_secrets_are_refused():
    with pytest.raises(
        EnvError, match=r"^X is shorter than 32 characters\. Make one with: python -c"
    ):
        Env({"X": SECRET[:-1]}).secret("X")


def test_a_file_holds_the_value(tmp_path):
    path = tmp_path / "key"
    path.write_text(SECRET + "\n")
    assert Env({"X_FILE": str(path)}).secret("X") == SECRET


def test_value_and_file_together_are_refused(tmp_path):
    with pytest.raises(EnvError, match=r"^X and X_FILE are both set"):
        Env({"X": SECRET, "X_FILE": str(tmp_path)}).secret("X")


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read"), (b"", "empty file"), (b"\xff\xfe", "cannot be read .not UTF-8")],
)
def test_odd_files(tmp_path, content, message):
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EnvError, match=f"^X_FILE points to .*{message}"):
        Env({"X_FILE": str(path)}).text("X")


@pytest.mark.parametrize(
    "read",
    [
        lambda env: env.boolean("X"),
        lambda env: env.integer("X"),
        lambda env: env.url("X", schemes=("redis",)),
        lambda env: env.secret("X"),
        lambda env: env.mapping("X"),
    ],
)
def test_errors_never_repeat_the_value(read):
    with pytest.raises(EnvError) as raised:
        read(Env({"X": "hunter2"}))
    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_the_process_wins_over_the_dotenv_file(tmp_path, monkeypatch):
    dotenv = tmp_path / ".env"
    dotenv.write_text("# services\nOCCURRENT_A=file\nOCCURRENT_B='quoted value'\n\n")
    monkeypatch.setenv("OCCURRENT_A", "process")
    found = environment(dotenv)
    assert (found["OCCURRENT_A"], found["OCCURRENT_B"]) == ("process", "quoted value")


def test_an_odd_dotenv_line_is_named(tmp_path):
    dotenv = tmp_path / ".env"
    dotenv.write_text("A=1\nexport B=2\n")
    with pytest.raises(EnvError, match=r"^\.env, line 2: not NAME=value"):
        environment(dotenv)


def test_a_mapping_is_a_json_object_in_the_variable_or_in_a_file(tmp_path):
    path = tmp_path / "models.json"
    path.write_text('{\n  "language_model": "glm"\n}\n')
    assert Env({}).mapping("X") == {}
    assert Env({"X": '{"a": {"b": 1}}'}).mapping("X") == {"a": {"b": 1}}
    assert Env({"X_FILE": str(path)}).mapping("X") == {"language_model": "glm"}
    with pytest.raises(EnvError, match=r"^X is not a JSON object"):
        Env({"X": "[1]"}).mapping("X")


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "Is a directory"), (b"\xff\xfe", "not UTF-8")]
)
def test_a_dotenv_that_cannot_be_read_is_named(tmp_path, content, reason):
    dotenv = tmp_path / ".env"
    dotenv.mkdir() if content is None else dotenv.write_bytes(content)
    with pytest.raises(
        EnvError, match=rf"\.env cannot be read \({reason}\)\. Mend it, or remove it\."
    ):
        environment(dotenv)


def test_a_path_is_absolute_and_its_file_is_not_read(tmp_path):
    assert Env({"X_FILE": str(tmp_path / "missing")}).path("X", None) == tmp_path / "missing"
    assert Env({}).path("X", tmp_path) == tmp_path
    assert Env({}).path("X", None) is None
    relative = Env({"X_FILE": "key.pem"}).path("X", None)
    assert relative is not None
    assert relative.is_absolute()
