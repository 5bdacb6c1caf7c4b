"""The deployment files are valid and consistent; checked without a container engine."""

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


def run_check(*command: object) -> str:
    """Run a program that checks a file; return its output."""
    result = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


def require_program(name: str) -> str:
    path = shutil.which(name)
    if not path:
        pytest.skip(f"{name} is not installed")
    return path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_settings_in_files_exist(path: Path) -> None:
    variables = set(re.findall(r"OPENZIM_MCP_[A-Z][A-Z_]*", path.read_text(encoding="utf-8")))

    assert variables - set(config.environment_variables()) == set()


# The image


def copied_sources() -> list[str]:
    """What the Dockerfile copies from the source tree."""
    rows = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    return [source for row in rows for source in row.split()[:-1]]


def test_dockerfile_passes_hadolint() -> None:
    linter = BIN / "hadolint"
    if not linter.exists():
        pytest.skip("hadolint has no wheel for this system")

    assert run_check(linter, "--no-color", ROOT / "Dockerfile") == ""


def test_image_installs_existing_extras() -> None:
    extras = set(re.findall(r"openzim-mcp\[([\w,]+)\]", DOCKERFILE)[0].split(","))

    assert extras - set(PROJECT["project"].get("optional-dependencies", {})) == set()


def test_image_is_unprivileged_and_has_a_health_check() -> None:
    last_stage = DOCKERFILE.rpartition("\nFROM ")[2]

    assert re.search(r"^USER (\d+):(\d+)$", last_stage, re.MULTILINE)
    assert 'CMD ["openzim-mcp", "probe"]' in last_stage
    assert "probe" in COMMANDS_BY_NAME
    assert 'ENTRYPOINT ["openzim-mcp"]' in last_stage


def test_base_images_have_versions() -> None:
    images = [
        re.findall(r"^ARG PYTHON=(.+)$", DOCKERFILE, re.MULTILINE)[0],
        *(service["image"].partition(":")[2] for service in COMPOSE["services"].values() if "build" not in service),
    ]

    assert [image for image in images if not re.match(r"\d", image)] == []


def test_dockerignore_lists_exactly_what_is_copied() -> None:
    rows = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    included = [row[1:] for row in rows if row.startswith("!")]

    assert "*" in rows
    assert [source for source in copied_sources() if not any(fnmatch(source, row) for row in included)] == []
    assert [row for row in included if not any(fnmatch(source, row) for source in copied_sources())] == []


def test_copied_sources_build_a_wheel_with_the_handbook(tmp_path: Path) -> None:
    for source in copied_sources():
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


def read_pins(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([^ ;]+)", path.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("lock", ["build.lock", "runtime.lock"])
def test_image_has_the_tested_versions(lock: str) -> None:
    tested = read_pins(ROOT / "requirements.lock")
    shipped = read_pins(ROOT / "deploy" / lock)

    assert {name: version for name, version in shipped.items() if tested.get(name, version) != version} == {}


def test_build_requirements_are_locked() -> None:
    requirements = PROJECT["build-system"]["requires"]

    assert PROJECT["dependency-groups"]["build"] == requirements
    assert {re.split(r"[<>=]", name)[0] for name in requirements} <= set(read_pins(ROOT / "deploy" / "build.lock"))


# Compose


def test_compose_file_matches_its_schema() -> None:
    output = run_check(BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", ROOT / "compose.yaml")

    assert output.startswith("ok")


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_services_are_read_only_unprivileged_and_limited(name: str) -> None:
    service = COMPOSE["services"][name]

    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(volume.endswith(":ro") for volume in service.get("volumes", []))
    assert set(service["deploy"]["resources"]["limits"]) == {"memory", "pids"}


def test_single_server_is_local_and_requires_a_token() -> None:
    default_services = {name: service for name, service in COMPOSE["services"].items() if "profiles" not in service}

    assert list(default_services) == ["zim"]
    assert [port for port in default_services["zim"]["ports"] if not port.startswith("127.0.0.1:")] == []
    assert default_services["zim"]["environment"]["OPENZIM_MCP_AUTH_TOKEN_FILE"] == "/run/secrets/token"
    assert default_services["zim"]["secrets"] == ["token"]
    assert "healthcheck" not in default_services["zim"]


def test_replicas_are_known_to_nginx_and_isolated() -> None:
    conf = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    replicas = {
        service["environment"]["OPENZIM_MCP_REPLICA"]: (name, service)
        for name, service in COMPOSE["services"].items()
        if "OPENZIM_MCP_REPLICA" in service.get("environment", {})
    }
    network = COMPOSE["networks"]["inside"]

    assert dict(re.findall(r"~\^(\w+)-\s+openzim_mcp_(\w+);", conf)) == {name: name for name in replicas}
    assert network["internal"]
    for replica, (host, service) in replicas.items():
        upstream = conf.partition(f"upstream openzim_mcp_{replica} {{")[2]
        assert re.findall(r"server ([\w-]+):8000", upstream)[0] == host
        assert service["networks"] == ["inside"]
        assert service["environment"]["OPENZIM_MCP_TRUSTED_PROXIES"] == network["ipam"]["config"][0]["subnet"]


# systemd


def unit_settings() -> dict[str, list[str]]:
    """The settings of the unit; each may occur several times."""
    settings: dict[str, list[str]] = {}
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        if line and line[0] not in "#[":
            key, _, value = line.partition("=")
            settings.setdefault(key, []).append(value)
    return settings


def test_unit_is_restricted_and_reads_its_token() -> None:
    settings = unit_settings()

    assert settings["DynamicUser"] == ["yes"]
    assert settings["ProtectSystem"] == ["strict"]
    assert settings["Restart"] == ["on-failure"]
    assert settings["RestartPreventExitStatus"] == ["2"]
    assert [value.partition(":")[0] for value in settings["LoadCredential"]] == ["token"]
    assert "OPENZIM_MCP_AUTH_TOKEN_FILE=%d/token" in settings["Environment"]
    assert settings["ReadOnlyPaths"][0] == settings["ExecStart"][0].split()[-1]


@pytest.fixture
def installed_unit(tmp_path: Path) -> Path:
    """The unit with a program that exists."""
    path = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8")
    path.write_text(text.replace("/opt/openzim-mcp/bin/openzim-mcp", sys.executable), encoding="utf-8")
    return path


def test_unit_passes_systemd_verify(installed_unit: Path) -> None:
    output = run_check(require_program("systemd-analyze"), "verify", installed_unit)

    assert UNIT.name not in output


def test_unit_has_a_low_exposure_level(installed_unit: Path) -> None:
    limit = ("--offline=true", "--threshold=15")  # of 100; a typical service has 96

    output = run_check(require_program("systemd-analyze"), "security", *limit, installed_unit)

    assert "Overall exposure level" in output


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forbid it")
def test_server_needs_no_writable_executable_memory() -> None:
    forbid = (
        "import ctypes, os, sys; ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) and sys.exit(77); os.execv(*eval(sys.argv[1]))"
    )
    command = [*COMMAND, "ask", "what is quarantine?"]

    result = subprocess.run(
        [sys.executable, "-c", forbid, repr((command[0], command))], capture_output=True, text=True, check=False
    )

    if result.returncode == 77:
        pytest.skip("this kernel cannot forbid it")
    assert result.returncode == 0
    assert result.stderr.splitlines()[1:] == [], "only the line that says that the handbook is used"


# Kubernetes


def find_manifest(kind: str) -> dict[str, Any]:
    return next(manifest for manifest in MANIFESTS if manifest["kind"] == kind)


@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_manifests_match_their_schemas(version: str) -> None:
    output = run_check(BIN / "kubernetes-validate", "--strict", "-k", version, ROOT / "deploy" / "kubernetes.yaml")

    assert output.count(" passed for resource ") == len(MANIFESTS)


def test_pods_match_the_restricted_profile() -> None:
    pod = find_manifest("Deployment")["spec"]["template"]["spec"]
    container = pod["containers"][0]["securityContext"]

    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["capabilities"] == {"drop": ["ALL"]}
    assert container["allowPrivilegeEscalation"] is False
    assert container["readOnlyRootFilesystem"]
    assert pod["automountServiceAccountToken"] is False
    assert f"USER {pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" in DOCKERFILE


def test_service_name_does_not_set_a_setting() -> None:
    service = find_manifest("Service")["metadata"]["name"]

    assert f"{service.upper().replace('-', '_')}_PORT" in config.environment_variables()
    assert find_manifest("Deployment")["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_manifests_select_the_same_pods() -> None:
    labels = {"app.kubernetes.io/name": "openzim-mcp"}

    assert find_manifest("Deployment")["spec"]["template"]["metadata"]["labels"] == labels
    assert find_manifest("Deployment")["spec"]["selector"]["matchLabels"] == labels
    assert find_manifest("Service")["spec"]["selector"] == labels
    assert find_manifest("NetworkPolicy")["spec"]["podSelector"]["matchLabels"] == labels
    assert find_manifest("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels
    assert (
        find_manifest("PodDisruptionBudget")["spec"]["minAvailable"] < find_manifest("Deployment")["spec"]["replicas"]
    )
    assert find_manifest("NetworkPolicy")["spec"]["egress"] == []


def test_pod_mounts_its_volumes_and_reads_its_token() -> None:
    pod = find_manifest("Deployment")["spec"]["template"]["spec"]
    container = pod["containers"][0]
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    variables = {row["name"]: row["value"] for row in container["env"]}

    assert set(mounts) == {volume["name"] for volume in pod["volumes"]}
    assert mounts["archives"]["readOnly"]
    assert variables["OPENZIM_MCP_AUTH_TOKEN_FILE"] == f"{mounts['token']['mountPath']}/token"
    assert variables["OPENZIM_MCP_STATELESS"] == "true"


def test_probes_use_the_health_endpoints() -> None:
    container = find_manifest("Deployment")["spec"]["template"]["spec"]["containers"][0]

    paths = {kind: container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness", "liveness")}

    assert paths == {"startup": "/readyz", "readiness": "/readyz", "liveness": "/healthz"}
