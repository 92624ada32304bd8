/**
 * Measures a connection between two hosts. `node probe.mjs serve PORT` runs on one host. `node
 * probe.mjs measure ADDRESS PORT` runs on the other and prints `{roundTripMs, gbitPerS}` as JSON.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../harness/statistics.mjs';

const ROUND_TRIPS = 30;
const STREAM_MS = 500;
const TRIES = 100;
const CHUNK = Buffer.alloc(1 << 20);

const [role, ...rest] = process.argv.slice(2);
await { serve, measure }[role](...rest);

/**
 * Answers each single byte with a byte, and the end of the stream with the number of received
 * bytes.
 */
async function serve(port) {
  const server = createServer({ allowHalfOpen: true }).listen(Number(port));
  await once(server, 'listening');
  const [socket] = await once(server, 'connection');
  server.close();
  socket.setNoDelay(true);
  let received = 0;
  socket.on('data', ({ length }) => {
    received += length;
    if (received <= ROUND_TRIPS) socket.write('x');
  });
  await once(socket, 'end');
  socket.end(`${received}`);
}

/** Repeats until the other side listens. */
async function reach(host, port) {
  for (let tries = 1; ; tries++) {
    const socket = connect({ host, port, allowHalfOpen: true });
    try {
      await once(socket, 'connect');
      return socket;
    } catch (error) {
      if (tries === TRIES) throw error;
      await sleep(50);
    }
  }
}

async function measure(address, port) {
  const socket = await reach(address, Number(port));
  socket.setNoDelay(true);
  const roundTrips = [];
  for (let i = 0; i < ROUND_TRIPS; i++) {
    const start = performance.now();
    socket.write('x');
    await once(socket, 'data');
    roundTrips.push(performance.now() - start);
  }
  const start = performance.now();
  while (performance.now() - start < STREAM_MS) {
    if (!socket.write(CHUNK)) await once(socket, 'drain');
  }
  socket.end();
  const [answer] = await once(socket, 'data');
  const seconds = (performance.now() - start) / 1000;
  const gbitPerS = (Number(`${answer}`) * 8) / 1e9 / seconds;
  console.log(JSON.stringify({ roundTripMs: median(roundTrips), gbitPerS }));
}
