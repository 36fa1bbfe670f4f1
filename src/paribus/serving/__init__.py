"""Local servers: access control, and the service that scores rows."""
