"""
title: ZIM archives
description: Answers from offline archives (Wikipedia and others), served by openzim-mcp.
version: 1.0
"""  # noqa: D205, D400  Open WebUI reads this form

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from pydantic import BaseModel, Field


class Tools:
    """The tools that a model in Open WebUI gets."""

    class Valves(BaseModel):
        """What an administrator sets."""

        base_url: str = Field("http://127.0.0.1:8000", description="Address of openzim-mcp serve")
        token: str = Field("", description="Bearer token, if the server requires one")

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def ask_archives(self, question: str) -> str:
        """
        Answer a question from offline archives, with sources.

        :param question: A question, in plain words.
        """
        answer = await asyncio.to_thread(self._get, "ask", q=question)
        return str(answer["markdown"])

    async def read_article(self, title: str) -> str:
        """
        Read an article of the archives as Markdown.

        :param title: The title, or the URL or zim:// URI of a source.
        """
        article = await asyncio.to_thread(self._get, "read", ref=title, limit="20000")
        return str(article["markdown"])

    def _get(self, endpoint: str, **parameters: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.valves.token}"} if self.valves.token else {}
        url = f"{self.valves.base_url.rstrip('/')}/api/v1/{endpoint}?{urlencode(parameters)}"
        with urlopen(Request(url, headers=headers), timeout=60) as response:  # noqa: S310
            result: dict[str, Any] = json.load(response)
        return result
