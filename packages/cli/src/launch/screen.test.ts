import { PassThrough } from 'node:stream';
import { setImmediate as tick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { truncateToWidth, Screen, type Output } from './screen.js';

const ERASE = '\r\u001b[K';

function createScreen(options: { isTTY?: boolean; columns?: number; highWaterMark?: number } = {}) {
  const { highWaterMark, ...properties } = options;
  const stdout = Object.assign(new PassThrough({ highWaterMark }), properties);
  const stderr = Object.assign(new PassThrough(), properties);
  return { screen: new Screen(stdout as Output, stderr as Output), stdout, stderr };
}

/** Reads to the end, because `read` gives a single chunk on Node.js 26. */
function textOf(stream: PassThrough): string {
  let text = '';
  for (let chunk: unknown; (chunk = stream.read()) !== null;) text += String(chunk);
  return text;
}

describe('Screen', () => {
  it('writes lines to their channel', () => {
    const { screen, stdout, stderr } = createScreen();
    screen.print('stdout', 0, '[0] a\n');
    screen.print('stderr', 1, '[1] b\n');
    expect([textOf(stdout), textOf(stderr)]).toEqual(['[0] a\n', '[1] b\n']);
  });

  it('ends an unfinished line before another rank writes', () => {
    const { screen, stdout } = createScreen();
    screen.print('stdout', 0, 'step 1\r');
    screen.print('stdout', 0, 'step 2\r');
    screen.print('stdout', 1, 'hello\n');
    screen.print('stdout', 0, 'step 3\n');
    expect(textOf(stdout)).toBe('step 1\rstep 2\r\nhello\nstep 3\n');
  });

  it('keeps an unfinished line at the bottom of a terminal', () => {
    const { screen, stdout, stderr } = createScreen({ isTTY: true, columns: 20 });
    screen.showLive('stdout', 'step 1');
    screen.print('stdout', 1, 'hello\n');
    expect(textOf(stdout)).toBe(`${ERASE}step 1${ERASE}hello\n${ERASE}step 1`);
    screen.print('stderr', 1, 'warning\n');
    expect([textOf(stdout), textOf(stderr)]).toEqual([`${ERASE}${ERASE}step 1`, 'warning\n']);
    screen.showLive('stderr', '');
    screen.showLive('stdout', 'step 1');
    expect(textOf(stdout)).toBe('');
    screen.showLive('stdout', '');
    screen.print('stdout', 0, 'done\n');
    expect(textOf(stdout)).toBe(`${ERASE}done\n`);
  });

  it('makes relays wait for a slow reader', async () => {
    const { screen, stdout } = createScreen({ highWaterMark: 4 });
    await screen.ready('stdout');
    screen.print('stdout', 0, 'longer than that\n');
    let isReady = false;
    const ready = screen.ready('stdout').then(() => (isReady = true));
    await screen.ready('stderr');
    await tick();
    expect(isReady).toBe(false);
    stdout.resume();
    await ready;
  });

  it('discards their output when the reader is gone', async () => {
    const { screen, stdout } = createScreen({ highWaterMark: 4 });
    screen.print('stdout', 0, 'longer than that\n');
    const ready = screen.ready('stdout');
    stdout.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    await Promise.all([ready, screen.broken]);
    screen.print('stdout', 0, 'more\n');
    await screen.ready('stdout');
    expect(textOf(stdout)).toBe('longer than that\n');
  });
});

describe('truncateToWidth', () => {
  it('counts visible characters', () => {
    expect(truncateToWidth('abcdef', 6)).toBe('abcdef');
    expect(truncateToWidth('abcdef', 3)).toBe('abc\u001b[0m');
    expect(truncateToWidth('\u001b[31mabc\u001b[39m', 3)).toBe('\u001b[31mabc\u001b[39m');
    expect(truncateToWidth('😀😀', 2)).toBe('😀😀');
  });
});
