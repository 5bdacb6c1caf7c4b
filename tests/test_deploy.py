"""The files that deploy the server say what holds; no container engine is needed to see it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from openzim_mcp import config
from openzim_mcp.cli.registry import COMMANDS_BY_NAME
from support.stdio_server import COMMAND

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
UNIT = ROOT / "deploy" / "openzim-mcp.service"
MANIFESTS = list(yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yaml").read_text(encoding="utf-8")))
FILES = [
    *(ROOT / name for name in ("Dockerfile", "compose.yaml", "docs/deploy.md")),
    *(path for path in sorted((ROOT / "deploy").iterdir()) if path.suffix != ".lock"),
]


def said_by(*command: object) -> str:
    """What a program says that checks a file, and ends with 0 if the file is right."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def program(name: str) -> str:
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_setting_in_a_file_is_one(path: Path) -> None:
    named = set(re.findall(r"OPENZIM_MCP_[A-Z][A-Z_]*", path.read_text(encoding="utf-8")))

    assert named - set(config.environment_variables()) == set()


# The image


def copied() -> list[str]:
    """What the Dockerfile takes from the source tree."""
    rows = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    return [source for row in rows for source in row.split()[:-1]]


def test_hadolint_has_nothing_to_say_about_the_dockerfile() -> None:
    linter = BIN / "hadolint"
    if not linter.exists():
        pytest.skip("hadolint has no wheel for this system")

    assert said_by(linter, "--no-color", ROOT / "Dockerfile") == ""


def test_the_image_installs_extras_that_there_are() -> None:
    extras = set(re.findall(r"openzim-mcp\[([\w,]+)\]", DOCKERFILE)[0].split(","))

    assert extras - set(PROJECT["project"].get("optional-dependencies", {})) == set()


def test_the_image_runs_as_nobody_and_asks_itself_whether_it_is_ready() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]

    assert re.search(r"^USER (\d+):(\d+)$", last, re.MULTILINE)
    assert 'CMD ["openzim-mcp", "probe"]' in last
    assert "probe" in COMMANDS_BY_NAME
    assert 'ENTRYPOINT ["openzim-mcp"]' in last


def test_every_image_has_a_version() -> None:
    images = [
        re.findall(r"^ARG PYTHON=(.+)$", DOCKERFILE, re.MULTILINE)[0],
        *(service["image"].partition(":")[2] for service in COMPOSE["services"].values() if "build" not in service),
    ]

    assert [image for image in images if not re.match(r"\d", image)] == []


def test_what_the_image_copies_is_let_through_and_nothing_else() -> None:
    rows = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    kept = [row[1:] for row in rows if row.startswith("!")]

    assert "*" in rows
    assert [source for source in copied() if not any(fnmatch(source, row) for row in kept)] == []
    assert [row for row in kept if not any(fnmatch(source, row) for source in copied())] == []


def test_what_the_image_copies_makes_a_wheel_with_the_handbook(tmp_path: Path) -> None:
    for source in copied():
        target = tmp_path / "source" / source
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("handbook.zim", "__pycache__"))
        else:
            shutil.copy(ROOT / source, target)

    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path / "wheels"],
        cwd=tmp_path / "source",
        capture_output=True,
        check=True,
    )

    wheel = next((tmp_path / "wheels").glob("*.whl"))
    assert "openzim_mcp/data/handbook.zim" in zipfile.ZipFile(wheel).namelist()


def pins(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([^ ;]+)", path.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("lock", ["build.lock", "runtime.lock"])
def test_the_image_has_the_versions_that_are_tested(lock: str) -> None:
    tested = pins(ROOT / "requirements.lock")
    shipped = pins(ROOT / "deploy" / lock)

    assert {name: version for name, version in shipped.items() if tested.get(name, version) != version} == {}


def test_what_builds_the_wheel_is_locked() -> None:
    wanted = PROJECT["build-system"]["requires"]

    assert PROJECT["dependency-groups"]["build"] == wanted
    assert {re.split(r"[<>=]", name)[0] for name in wanted} <= set(pins(ROOT / "deploy" / "build.lock"))


# Compose


def test_compose_follows_its_schema() -> None:
    said = said_by(BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", ROOT / "compose.yaml")

    assert said.startswith("ok")


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_every_service_can_write_nothing_gain_nothing_and_take_little(name: str) -> None:
    service = COMPOSE["services"][name]

    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(volume.endswith(":ro") for volume in service.get("volumes", []))
    assert set(service["deploy"]["resources"]["limits"]) == {"memory", "pids"}


def test_one_server_alone_is_heard_on_this_machine_only_and_wants_its_token() -> None:
    always = {name: service for name, service in COMPOSE["services"].items() if "profiles" not in service}

    assert list(always) == ["zim"]
    assert [port for port in always["zim"]["ports"] if not port.startswith("127.0.0.1:")] == []
    assert always["zim"]["environment"]["OPENZIM_MCP_AUTH_TOKEN_FILE"] == "/run/secrets/token"
    assert always["zim"]["secrets"] == ["token"]
    assert "healthcheck" not in always["zim"]


def test_servers_of_a_cluster_have_a_name_that_nginx_knows_and_no_way_out() -> None:
    conf = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    replicas = {
        service["environment"]["OPENZIM_MCP_REPLICA"]: (name, service)
        for name, service in COMPOSE["services"].items()
        if "OPENZIM_MCP_REPLICA" in service.get("environment", {})
    }
    inside = COMPOSE["networks"]["inside"]

    assert dict(re.findall(r"~\^(\w+)-\s+openzim_mcp_(\w+);", conf)) == {name: name for name in replicas}
    assert inside["internal"]
    for replica, (host, service) in replicas.items():
        first = conf.partition(f"upstream openzim_mcp_{replica} {{")[2]
        assert re.findall(r"server ([\w-]+):8000", first)[0] == host
        assert service["networks"] == ["inside"]
        assert service["environment"]["OPENZIM_MCP_TRUSTED_PROXIES"] == inside["ipam"]["config"][0]["subnet"]


# systemd


def unit() -> dict[str, list[str]]:
    """The settings of the unit; each may stand several times."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        if line and line[0] not in "#[":
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_the_unit_has_what_it_promises() -> None:
    settings = unit()

    assert settings["DynamicUser"] == ["yes"]
    assert settings["ProtectSystem"] == ["strict"]
    assert settings["Restart"] == ["on-failure"]
    assert settings["RestartPreventExitStatus"] == ["2"]
    assert [value.partition(":")[0] for value in settings["LoadCredential"]] == ["token"]
    assert "OPENZIM_MCP_AUTH_TOKEN_FILE=%d/token" in settings["Environment"]
    assert settings["ReadOnlyPaths"][0] == settings["ExecStart"][0].split()[-1]


@pytest.fixture
def installed_unit(tmp_path: Path) -> Path:
    """The unit with a program that is there."""
    path = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8")
    path.write_text(text.replace("/opt/openzim-mcp/bin/openzim-mcp", sys.executable), encoding="utf-8")
    return path


def test_systemd_has_nothing_to_say_about_the_unit(installed_unit: Path) -> None:
    said = said_by(program("systemd-analyze"), "verify", installed_unit)

    assert UNIT.name not in said


def test_systemd_finds_the_service_hard_to_abuse(installed_unit: Path) -> None:
    limit = ("--offline=true", "--threshold=15")  # of 100; a usual service has 96

    said = said_by(program("systemd-analyze"), "security", *limit, installed_unit)

    assert "Overall exposure level" in said


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forbid it")
def test_memory_that_can_be_written_need_never_be_executed() -> None:
    forbid = (
        "import ctypes, os, sys; ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) and sys.exit(77); os.execv(*eval(sys.argv[1]))"
    )
    words = [*COMMAND, "ask", "what is quarantine?"]

    done = subprocess.run(
        [sys.executable, "-c", forbid, repr((words[0], words))], capture_output=True, text=True, check=False
    )

    if done.returncode == 77:
        pytest.skip("this kernel cannot forbid it")
    assert (done.returncode, done.stderr) == (0, "")


# Kubernetes


def manifest(kind: str) -> dict[str, Any]:
    return next(found for found in MANIFESTS if found["kind"] == kind)


@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_the_manifests_follow_their_schemas(version: str) -> None:
    said = said_by(BIN / "kubernetes-validate", "--strict", "-k", version, ROOT / "deploy" / "kubernetes.yaml")

    assert said.count(" passed for resource ") == len(MANIFESTS)


def test_pods_fit_the_restricted_profile() -> None:
    pod = manifest("Deployment")["spec"]["template"]["spec"]
    container = pod["containers"][0]["securityContext"]

    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["capabilities"] == {"drop": ["ALL"]}
    assert container["allowPrivilegeEscalation"] is False
    assert container["readOnlyRootFilesystem"]
    assert pod["automountServiceAccountToken"] is False
    assert f"USER {pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" in DOCKERFILE


def test_a_service_of_this_name_does_not_change_the_settings() -> None:
    service = manifest("Service")["metadata"]["name"]

    assert f"{service.upper().replace('-', '_')}_PORT" in config.environment_variables()
    assert manifest("Deployment")["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_the_manifests_speak_of_the_same_pods() -> None:
    labels = {"app.kubernetes.io/name": "openzim-mcp"}

    assert manifest("Deployment")["spec"]["template"]["metadata"]["labels"] == labels
    assert manifest("Deployment")["spec"]["selector"]["matchLabels"] == labels
    assert manifest("Service")["spec"]["selector"] == labels
    assert manifest("NetworkPolicy")["spec"]["podSelector"]["matchLabels"] == labels
    assert manifest("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels
    assert manifest("PodDisruptionBudget")["spec"]["minAvailable"] < manifest("Deployment")["spec"]["replicas"]
    assert manifest("NetworkPolicy")["spec"]["egress"] == []


def test_a_pod_mounts_what_it_has_and_reads_its_token_there() -> None:
    pod = manifest("Deployment")["spec"]["template"]["spec"]
    container = pod["containers"][0]
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    variables = {row["name"]: row["value"] for row in container["env"]}

    assert set(mounts) == {volume["name"] for volume in pod["volumes"]}
    assert mounts["archives"]["readOnly"]
    assert variables["OPENZIM_MCP_AUTH_TOKEN_FILE"] == f"{mounts['token']['mountPath']}/token"
    assert variables["OPENZIM_MCP_STATELESS"] == "true"


def test_probes_ask_whether_it_lives_and_whether_it_is_ready() -> None:
    container = manifest("Deployment")["spec"]["template"]["spec"]["containers"][0]

    asked = {kind: container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness", "liveness")}

    assert asked == {"startup": "/readyz", "readiness": "/readyz", "liveness": "/healthz"}
