"""The MCP server: `memory` answers calls about fixed fields, `tools` describes them, `server` speaks the protocol."""
