"""What is fixed in the format of a zip: the forms of its records, by which they begin, and a few values.

Source: PKWARE, "APPNOTE.TXT - .ZIP File Format Specification".
"""

from __future__ import annotations

import struct

LOCAL, LOCAL_SIGN = struct.Struct("<4s5H3L2H"), b"PK\x03\x04"
CENTRAL, CENTRAL_SIGN = struct.Struct("<4s6H3L5H2L"), b"PK\x01\x02"
END, END_SIGN = struct.Struct("<4s4H2LH"), b"PK\x05\x06"
END64, END64_SIGN = struct.Struct("<4sQ2H2L4Q"), b"PK\x06\x06"
LOCATOR, LOCATOR_SIGN = struct.Struct("<4sLQL"), b"PK\x06\x07"

STORED, DEFLATED = 0, 8
UTF8 = 0x800
"""The flag of a name that is UTF-8."""
ELSEWHERE16, ELSEWHERE = 0xFFFF, 0xFFFF_FFFF
"""Values that say: the true one stands in a field of zip64."""
