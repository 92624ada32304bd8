import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineReader } from './line-reader.js';

/** Events as short strings: `=` a line, `~` a rewritten one. */
function read(...chunks: (string | Buffer)[]): string[] {
  const reader = new LineReader();
  const events = chunks.flatMap((chunk) => reader.push(Buffer.from(chunk)));
  return [...events, ...reader.end()].map(({ kind, text }) => (kind === 'line' ? '=' : '~') + text);
}

describe('LineReader', () => {
  it('joins lines over chunks and flushes the last line', () => {
    expect(read('a\nb', 'c\n\nlast')).toEqual(['=a', '=bc', '=', '=last']);
    expect(read()).toEqual([]);
    expect(read('a\n')).toEqual(['=a']);
  });

  it('accepts \\r\\n as a line end, also across chunks', () => {
    expect(read('a\r\nb\r', '\nc')).toEqual(['=a', '=b', '=c']);
  });

  it('lets text after a carriage return replace the line', () => {
    expect(read('\rstep 1', '\rstep 2\r', 'step 3\ndone')).toEqual([
      '~step 1',
      '~step 2',
      '=step 3',
      '=done',
    ]);
    expect(read('x\r')).toEqual(['=x']);
  });

  it("treats Node's cursorTo and clearLine like a carriage return", () => {
    expect(read('\u001b[2K\u001b[1Ga', '\u001b[2', 'K\u001b', '[1Gb\n')).toEqual(['~a', '=b']);
  });

  it('keeps colours, also if a chunk ends inside a colour code', () => {
    expect(read('\u001b[3', '1mred\u001b[39m\n')).toEqual(['=\u001b[31mred\u001b[39m']);
    expect(read('end\u001b[')).toEqual(['=end\u001b[']);
  });

  it('shows the unfinished line', () => {
    const reader = new LineReader();
    reader.push(Buffer.from('a\n\rstep'));
    expect(reader.unfinished).toBe('step');
    reader.push(Buffer.from('\r'));
    expect(reader.unfinished).toBe('step');
    reader.push(Buffer.from('\n'));
    expect(reader.unfinished).toBe('');
  });

  it('gives the same lines wherever the bytes are split', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'ä', '😀', '\n', '\r', '\u001b[1G', '\u001b[2K', '\u001b[0m'),
    });
    fc.assert(
      fc.property(text, fc.array(fc.nat(40)), (full, cuts) => {
        const bytes = Buffer.from(full);
        const edges = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const chunks = edges.slice(1).map((end, i) => bytes.subarray(edges[i], end));
        const lines = (events: string[]) => events.filter((event) => event.startsWith('='));
        expect(lines(read(...chunks))).toEqual(lines(read(bytes)));
      }),
    );
  });
});
