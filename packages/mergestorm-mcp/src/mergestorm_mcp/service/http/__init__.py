"""The API over HTTP.

app         every route, and what happens to a request nobody has a route for
guard       which requests may come in at all: Host, Origin
receiving   media type and bytes of a body, within bounds
endpoints   one endpoint: key, knobs, body and query, the domain's function, the answer
serving     the socket, the loop, the end
routes      one module per room
"""
