"""The MCP server: registers tools, resources, prompts, completions and subscriptions with the SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server import CacheHint, Server

from openzim_mcp import __version__
from openzim_mcp.protocol import app_view, tools
from openzim_mcp.protocol.completions import Completions
from openzim_mcp.protocol.errors import as_jsonrpc_error
from openzim_mcp.protocol.instructions import Instructions
from openzim_mcp.protocol.prompts import Prompts
from openzim_mcp.protocol.request_scope import run_for_client
from openzim_mcp.protocol.resources import Resources
from openzim_mcp.protocol.skills import register_skills

if TYPE_CHECKING:
    from mcp.server import NotificationOptions
    from mcp.server.caching import CacheableMethod

    from openzim_mcp.app.app import App
    from openzim_mcp.config import Settings
    from openzim_mcp.protocol.context import RequestContext
    from openzim_mcp.protocol.subscriptions import Subscriptions

_STATIC_CACHE = CacheHint(ttl_ms=300_000, scope="public")
_TITLE = "OpenZIM MCP"


class _Server(Server[Any]):
    """Advertises the real capabilities: the lists of tools and prompts never change, that of resources may."""

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        capabilities = super().get_capabilities(
            notification_options, experimental_capabilities, extensions, protocol_version=protocol_version
        )
        subscribe = capabilities.resources.subscribe if capabilities.resources else False
        return capabilities.model_copy(
            update={
                "tools": types.ToolsCapability(list_changed=False),
                "prompts": types.PromptsCapability(list_changed=False),
                "resources": types.ResourcesCapability(subscribe=subscribe, list_changed=subscribe),
            }
        )


def _cache_hints(settings: Settings) -> dict[CacheableMethod, CacheHint]:
    until_next_scan = CacheHint(ttl_ms=settings.watch_interval_seconds * 1000)
    return {
        "server/discover": until_next_scan,
        "tools/list": until_next_scan,
        "prompts/list": _STATIC_CACHE,
        "resources/templates/list": _STATIC_CACHE,
        "resources/list": until_next_scan,
        "resources/read": until_next_scan,
    }


def build_server(app: App, subscriptions: Subscriptions) -> Server[Any]:
    """Return a server with all tools, resources, prompts, completions and subscriptions registered."""
    settings = app.settings
    schemas = {tool.name: tools.argument_schema(tool.request) for tool in tools.served_tools(app)}
    resources = Resources(app)
    prompts = Prompts(settings)

    async def list_tools(
        _context: RequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=await tools.list_tools(app))

    async def call_tool(context: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await tools.call_tool(app, context, params)

    server = _Server(
        settings.server_name,
        version=__version__,
        title=_TITLE,
        cache_hints=_cache_hints(settings),
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=as_jsonrpc_error(resources.list_resources),
        on_list_resource_templates=resources.list_templates,
        on_read_resource=as_jsonrpc_error(resources.read_resource),
        on_list_prompts=prompts.list_prompts,
        on_get_prompt=as_jsonrpc_error(prompts.get_prompt),
        on_completion=as_jsonrpc_error(Completions(app).complete),
        on_subscribe_resource=as_jsonrpc_error(subscriptions.subscribe) if settings.has_sessions else None,
        on_unsubscribe_resource=as_jsonrpc_error(subscriptions.unsubscribe) if settings.has_sessions else None,
        on_subscriptions_listen=as_jsonrpc_error(subscriptions.listen),
    )
    register_skills(server, app)
    server.extensions[app_view.EXTENSION] = {"mimeTypes": [app_view.MIME_TYPE]}
    server.middleware += [run_for_client, Instructions(app)]
    server.add_notification_handler(
        "notifications/initialized", types.NotificationParams, subscriptions.serve_connection
    )
    return server
