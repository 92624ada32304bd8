import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { runAgent, type AgentEnd } from './agent.js';
import type { Round, ToAgent } from './messages.js';

const servers: Server[] = [];
afterEach(() => servers.splice(0).forEach((server) => server.close()));

const ROUND: Round = {
  kind: 'round',
  restart: 0,
  failures: 0,
  maxRestarts: 0,
  nodeRank: 0,
  sizes: [1],
  port: 1,
};

/** An agent whose endpoint is a server that sends these messages, and the rounds that the agent ran. */
async function agentAt(messages: readonly ToAgent[]): Promise<{ ended: Promise<AgentEnd>; rounds: Round[] }> {
  const server = createServer((socket) => {
    // The agent closes the connection.
    socket.on('error', () => {}).resume();
    socket.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const rounds: Round[] = [];
  const ended = runAgent({
    id: 'agent',
    endpoint: { host: '127.0.0.1', port },
    token: 'secret',
    nproc: 1,
    minNodes: 1,
    maxNodes: 2,
    hostTimeoutMs: 10_000,
    runRound: async (round) => {
      rounds.push(round);
      return { outcome: 'left', exitCode: 0 };
    },
  });
  return { ended, rounds };
}

it.each<[string, ToAgent[]]>([
  ['a round', [ROUND]],
  ['a stop', [{ kind: 'stop', isSaving: false }, ROUND]],
  ['an end', [{ kind: 'end', exitCode: 0, reason: '' }]],
  ['a round after a wrong proof', [{ kind: 'welcome', proof: 'guess' }, ROUND]],
])(
  'the agent refuses %s from a server that does not prove that it knows the token',
  async (_name, orders) => {
    const { ended, rounds } = await agentAt([{ kind: 'challenge', nonce: 'n' }, ...orders]);
    await expect(ended).rejects.toMatchObject({ code: 'ACC_JOB_TOKEN' });
    expect(rounds).toEqual([]);
  },
);
