"""Language codes: archives and catalogs use the three letters of ISO 639-3, people and file names often two."""

from __future__ import annotations

# Two letters, then three; after a slash the other codes of the language: ISO 639-2/B, and the main individual language
# where the code is that of a macrolanguage.
_CODES = """
aa:aar ab:abk ae:ave af:afr ak:aka am:amh an:arg ar:ara as:asm av:ava ay:aym az:aze ba:bak be:bel bg:bul bi:bis bm:bam
bn:ben bo:bod/tib br:bre bs:bos ca:cat ce:che ch:cha co:cos cr:cre cs:ces/cze cu:chu cv:chv cy:cym/wel da:dan
de:deu/ger dv:div dz:dzo ee:ewe el:ell/gre en:eng eo:epo es:spa et:est eu:eus/baq fa:fas/per/pes ff:ful fi:fin fj:fij
fo:fao fr:fra/fre fy:fry ga:gle gd:gla gl:glg gn:grn gu:guj gv:glv ha:hau he:heb hi:hin ho:hmo hr:hrv ht:hat hu:hun
hy:hye/arm hz:her ia:ina id:ind ie:ile ig:ibo ii:iii ik:ipk io:ido is:isl/ice it:ita iu:iku ja:jpn jv:jav ka:kat/geo
kg:kon ki:kik kj:kua kk:kaz kl:kal km:khm kn:kan ko:kor kr:kau ks:kas ku:kur kv:kom kw:cor ky:kir la:lat lb:ltz lg:lug
li:lim ln:lin lo:lao lt:lit lu:lub lv:lav mg:mlg mh:mah mi:mri/mao mk:mkd/mac ml:mal mn:mon mr:mar ms:msa/may mt:mlt
my:mya/bur na:nau nb:nob nd:nde ne:nep ng:ndo nl:nld/dut nn:nno no:nor nr:nbl nv:nav ny:nya oc:oci oj:oji om:orm or:ori
os:oss pa:pan pi:pli pl:pol ps:pus pt:por qu:que rm:roh rn:run ro:ron/rum ru:rus rw:kin sa:san sc:srd sd:snd se:sme
sg:sag sh:hbs si:sin sk:slk/slo sl:slv sm:smo sn:sna so:som sq:sqi/alb sr:srp ss:ssw st:sot su:sun sv:swe sw:swa/swh
ta:tam te:tel tg:tgk th:tha ti:tir tk:tuk tl:tgl tn:tsn to:ton tr:tur ts:tso tt:tat tw:twi ty:tah ug:uig uk:ukr ur:urd
uz:uzb ve:ven vi:vie vo:vol wa:wln wo:wol xh:xho yi:yid yo:yor za:zha zh:zho/chi/cmn zu:zul
"""
_PAIRS = [(two, three.split("/")) for two, _, three in (row.partition(":") for row in _CODES.split())]
_TO_THREE = {code: three[0] for two, three in _PAIRS for code in (two, *three)}
_TO_TWO = {code: two for two, three in _PAIRS for code in three}

# Languages whose script has no spaces between words, and that full-text indexes do not segment: Thai, Lao, Khmer, and
# those in Burmese script (Burmese, Shan, Mon).
_UNSEGMENTED = frozenset({"th", "lo", "km", "my", "shn", "mnw"})


def has_unsegmented_language(codes: str) -> bool:
    """Return whether one of an archive's languages (`tha`, `eng,lao`) is one that full-text indexes do not segment."""
    return not _UNSEGMENTED.isdisjoint(two_letter_codes(codes))


def three_letter_code(code: str) -> str:
    """Return `eng` for `en`, `ENG` or `en-GB`; an unknown code stays, in lower case and without region."""
    base = _language_part(code)
    return _TO_THREE.get(base, base)


def two_letter_code(code: str) -> str:
    """Return `en` for `eng`, `EN` or `en-GB`; an unknown code, or one without a short form, stays."""
    base = _language_part(code)
    return _TO_TWO.get(base, base)


def two_letter_codes(codes: str) -> list[str]:
    """Return the codes of an archive's languages: `["ar", "ja"]` for `ara,jpn`."""
    return [two_letter_code(code) for code in codes.split(",") if code.strip()]


def _language_part(code: str) -> str:
    return code.strip().lower().replace("_", "-").partition("-")[0]
