//! The MCP server: tools, resources and transports on top of the supervisor.

pub mod stdio;
