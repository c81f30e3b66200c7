"""An MQTT broker in Python that keeps what it must: amqtt_broker.py PORT MORE runs one.

It is amqtt, which by itself forgets messages of QoS 1. Measured with 0.12.1: a client found 50
messages waiting, took what came at once, acknowledged it and left, forty times; four times up to
28 messages were sent and never again, though no acknowledgement of them had come. MQTT says to
keep them [MQTT-4.4.0-1]. From reading it:

- what is not acknowledged within five seconds, or before the connection ends, is dropped;
- it looks out for an acknowledgement only when the message is sent: a quick one is not seen;
- a client that leaves while it is sent what waited stays "connected" for ever, and when it comes
  back, the late end of its first connection makes it "disconnected": it gets nothing any more;
- what waited is sent marked as retained [MQTT-3.3.1-9], and after what came in the meantime.

Only these are changed here. The protocol, topics, logins and TLS are amqtt's own.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from amqtt import broker
from amqtt.mqtt.protocol.broker_handler import BrokerProtocolHandler
from amqtt.mqtt.protocol.handler import ProtocolHandler
from amqtt.session import OUTGOING


class Handler(BrokerProtocolHandler):  # type: ignore[misc]
    """One connection of a client."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.live = False  # from when it was sent all that waited, until it ends
        self.sending: list[asyncio.Task[Any]] = []

    async def start(self) -> None:
        gone: asyncio.Future[Any] = asyncio.Future()
        self._disconnect_waiter = gone  # not later: the client may be gone by then
        assert self.session is not None
        if not self.session.transitions.is_connected():  # the connection before ended just now
            self.session.transitions.connect()
        await ProtocolHandler.start(self)

    async def stop(self) -> None:
        self.live = False
        await super().stop()

    async def mqtt_publish(self, topic: str, data: Any, qos: Any, retain: bool, *more: Any) -> Any:
        if self.live or retain:
            return await super().mqtt_publish(topic, data, qos, retain, *more)
        assert self.session is not None
        waits = broker.RetainedApplicationMessage(None, topic, data, qos)
        self.session.retained_messages.put_nowait(waits)
        return None

    async def _retry_deliveries(self) -> None:
        assert self.session is not None
        for each in [*self.session.inflight_in.values(), *self.session.inflight_out.values()]:
            self.sending.append(asyncio.ensure_future(self._handle_message_flow(each)))

    async def _handle_qos1_message_flow(self, app_message: Any) -> None:
        if app_message.direction != OUTGOING:
            await super()._handle_qos1_message_flow(app_message)
            return
        assert self.session is not None
        session, number = self.session, app_message.packet_id
        session.inflight_out[number] = app_message
        acknowledged: asyncio.Future[Any] = asyncio.Future()
        self._puback_waiters[number] = acknowledged
        again = app_message.publish_packet is not None
        app_message.publish_packet = app_message.build_publish_packet(dup=again)
        await self._send_packet(app_message.publish_packet)
        app_message.puback_packet = await acknowledged  # else it is sent again to the next one
        del self._puback_waiters[number], session.inflight_out[number]


class Broker(broker.Broker):  # type: ignore[misc]
    """All connections."""

    async def _publish_session_retained_messages(self, session: Any) -> None:
        handler, waiting = self._get_handler(session), session.retained_messages
        assert isinstance(handler, Handler)
        handler.live = True
        while not waiting.empty():
            each = waiting.get_nowait()
            sent = handler.mqtt_publish(each.topic, each.data, each.qos, retain=False)
            handler.sending.append(asyncio.ensure_future(sent))

    async def _handle_disconnect(self, client_session: Any, handler: Any, *more: Any) -> None:
        if self._get_handler(client_session) is handler:
            await super()._handle_disconnect(client_session, handler, *more)
        else:
            await self._stop_handler(handler)  # another connection has its place


async def _serve(port: int, more: dict[str, str]) -> None:
    listener: dict[str, Any] = {"type": "tcp", "bind": f"127.0.0.1:{port}"}
    if "key" in more:
        listener |= {"ssl": True, "certfile": more["certificate"], "keyfile": more["key"]}
    # Sessions of anonymous clients are not kept, so there must be none: any name will do.
    plugins: dict[str, Any] = {"AnonymousAuthPlugin": {"allow_anonymous": False}}
    if "passwords" in more:
        plugins = {"FileAuthPlugin": {"password_file": more["passwords"]}}
    config = {
        "listeners": {"default": listener},
        "plugins": {f"amqtt.plugins.authentication.{k}": v for k, v in plugins.items()},
    }
    broker.BrokerProtocolHandler = Handler
    await Broker(config).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), json.loads(sys.argv[2])))
