"""Skills, by the extension `io.modelcontextprotocol/skills`: a list, and the files as resources with their digests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp import MCPError

from openzim_mcp import errors
from openzim_mcp.app.skills import Skill, find_file, load_skills
from openzim_mcp.protocol.context import caller_of
from openzim_mcp.protocol.errors import as_jsonrpc_error
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from mcp.server import Server

    from openzim_mcp.app.app import App
    from openzim_mcp.protocol.context import RequestContext

EXTENSION = "io.modelcontextprotocol/skills"
_TTL_MS = 300_000
_MARKDOWN = "text/markdown"


class GetSkillParams(types.RequestParams):
    """What `skills/get` takes: the URI of the skill's `SKILL.md`."""

    uri: str


@dataclass(frozen=True)
class Skills:
    """The skills of a server."""

    app: App

    async def list_skills(self, context: RequestContext, _params: types.PaginatedRequestParams) -> dict[str, Any]:
        """Return all skills on one page."""
        await self.app.charge(caller_of(context), "default")
        return _cacheable({"skills": [_to_wire(skill) for skill in load_skills()]})

    async def get_skill(self, context: RequestContext, params: GetSkillParams) -> dict[str, Any]:
        """Return one skill."""
        await self.app.charge(caller_of(context), "default")
        for skill in load_skills():
            if skill.uri == params.uri:
                return _cacheable({"skill": _to_wire(skill)})
        raise MCPError(types.INVALID_PARAMS, f"No skill {safe_line(params.uri, 200)!r}.")


def register_skills(server: Server[Any], app: App) -> None:
    """Declare the extension, and serve its methods."""
    skills = Skills(app)
    server.extensions[EXTENSION] = {}
    server.add_request_handler("skills/list", types.PaginatedRequestParams, as_jsonrpc_error(skills.list_skills))
    server.add_request_handler("skills/get", GetSkillParams, as_jsonrpc_error(skills.get_skill))


def read_skill_file(uri: str) -> types.ReadResourceResult:
    """Read a file of a skill."""
    file = find_file(uri)
    if file is None:
        names = ", ".join(skill.uri for skill in load_skills())
        raise errors.ResourceNotFound(f"No file {safe_line(uri, 200)!r} of a skill.", hint=f"There are: {names}.")
    content = types.TextResourceContents(uri=uri, mime_type=_MARKDOWN, text=file.content.decode())
    return types.ReadResourceResult(contents=[content], ttl_ms=_TTL_MS, cache_scope="public")


def _to_wire(skill: Skill) -> dict[str, Any]:
    files = [{"uri": skill.file_uri(file), "digest": file.digest, "size": len(file.content)} for file in skill.files]
    return {"uri": skill.uri, "frontmatter": skill.header, "resources": files}


def _cacheable(result: dict[str, Any]) -> dict[str, Any]:
    return {"resultType": "complete", **result, "ttlMs": _TTL_MS, "cacheScope": "public"}
