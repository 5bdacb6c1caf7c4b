# ruff: noqa: RUF001
"""Headings of sections that hold no text of the article: references, further reading, links; by language."""

from __future__ import annotations

from functools import lru_cache

from openzim_mcp.text import normalize

_REFERENCE_HEADINGS = {
    "en": "references|notes|note|footnotes|endnotes|notes and references|references and notes|citations|"
    "works cited|sources|bibliography|further reading|external links|external link|see also|"
    "links|literature|references and further reading|sources and further reading|references and external links|"
    "related pages|other websites|related links|related articles|general references|notes and citations|"
    "notes and sources|sources and references|notes, references and sources|external sources|web links|related topics|"
    "other references|additional reading|recommended reading|suggested reading|cited sources|cited works|"
    "explanatory notes|informational notes|notes and footnotes|external resources|references & notes|"
    "further reading and external links|footnotes and references|references and footnotes|reference list",
    "de": "einzelnachweise|nachweise|belege|quellen|literatur|weblinks|siehe auch|anmerkungen|fußnoten|referenzen|"
    "weiterführende literatur|literatur und quellen|quellen und literatur|anmerkungen und einzelnachweise|"
    "quellen und einzelnachweise|externe links|literaturverzeichnis|verweise",
    "fr": "références|notes et références|notes|bibliographie|voir aussi|liens externes|lien externe|articles connexes|"
    "sources|pour approfondir|lectures complémentaires|notes et sources|lien interne|liens internes|"
    "liens|sources et bibliographie|bibliographie et sources|références et notes",
    "es": "referencias|notas|notas y referencias|referencias y notas|bibliografía|véase también|enlaces externos|"
    "enlace externo|fuentes|lecturas adicionales|para saber más|lectura adicional|enlaces|citas|"
    "bibliografía adicional|fuentes y referencias|otros enlaces|vínculos externos",
    "pt": "referências|notas|notas e referências|referências e notas|bibliografia|ver também|ligações externas|"
    "ligação externa|links externos|link externo|fontes|leitura adicional|leituras adicionais|veja também|"
    "referências bibliográficas|leitura complementar",
    "it": "note|bibliografia|voci correlate|collegamenti esterni|altri progetti|riferimenti|fonti|note e riferimenti|"
    "vedi anche|riferimenti bibliografici|approfondimenti",
    "nl": "referenties|bronnen|noten|voetnoten|literatuur|externe links|externe link|zie ook|bronvermelding|"
    "bronnen, noten en/of referenties|bronnen en referenties|bibliografie|verder lezen|bronnen en noten|"
    "externe koppelingen|referenties en noten",
    "ru": "примечания|литература|ссылки|источники|см. также|смотри также|смотрите также|библиография|"
    "сноски|внешние ссылки|примечания и источники|рекомендуемая литература|источники и литература|примечание",
    "pl": "przypisy|bibliografia|linki zewnętrzne|zobacz też|zobacz także|uwagi|literatura|źródła|odnośniki|"
    "linki|literatura uzupełniająca",
    "tr": "kaynakça|kaynaklar|notlar|dipnotlar|dış bağlantılar|ayrıca bakınız|konuyla ilgili yayınlar|bibliyografya|"
    "ek okumalar|bakınız|dış bağlantı",
    "ar": "مراجع|المراجع|المصادر|مصادر|انظر أيضا|انظر أيضًا|وصلات خارجية|روابط خارجية|ملاحظات|هوامش|الهوامش|طالع أيضا|"
    "قراءات إضافية|اقرأ أيضا|مصادر ومراجع|مراجع ومصادر|ملاحظات ومراجع",
    "zh": "参考文献|參考文獻|参考资料|參考資料|参考来源|參考來源|注释|註釋|注解|註解|脚注|腳註|外部链接|外部連結|"
    "参见|參見|延伸阅读|延伸閱讀|参考|參考|资料来源|資料來源|相关条目|相關條目|扩展阅读|参看|備註|备注|来源|引用|注释与参考文献",
    "ja": "脚注|注釈|出典|参考文献|外部リンク|関連項目|関連文献|参考資料|注|引用文献|参照|参考|関連書籍|文献|"
    "注釈・出典|注釈・出典・脚注|脚注・出典|関連リンク",
    "hi": "सन्दर्भ|संदर्भ|टिप्पणी|टिप्पणियाँ|बाहरी कड़ियाँ|बाहरी कड़ी|इन्हें भी देखें|यह भी देखें|ग्रन्थसूची|ग्रंथसूची|आगे पढ़ें|"
    "अतिरिक्त पठन|स्रोत|सन्दर्भ ग्रन्थ|पाद टिप्पणियां",
    "ko": "각주|참고 문헌|참고문헌|외부 링크|같이 보기|출처|주석|참고 자료|내용주|관련 문서|더 읽어보기|참고|"
    "외부링크|참조|각주 및 참고 문헌",
    "id": "referensi|catatan kaki|catatan|pranala luar|lihat pula|lihat juga|daftar pustaka|rujukan|bacaan lanjutan|"
    "bacaan lebih lanjut|sumber|kepustakaan|bibliografi|pautan luar",
    "vi": "tham khảo|chú thích|liên kết ngoài|xem thêm|thư mục|đọc thêm|ghi chú|nguồn|tài liệu tham khảo|"
    "nguồn tham khảo|chú thích và tham khảo",
}
_NORMALIZED = frozenset(
    normalize(heading) for headings in _REFERENCE_HEADINGS.values() for heading in headings.split("|")
)


@lru_cache(maxsize=5000)
def is_reference_heading(title: str) -> bool:
    """Return whether a section of that heading, all of it, holds no text of the article."""
    return normalize(title).strip(" :.*[]") in _NORMALIZED
