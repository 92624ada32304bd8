import { StringDecoder } from 'node:string_decoder';

/**
 * `line`: a line that ended with a line feed or the end of the output. `rewritten`: a line that
 * newer text replaced after a carriage return.
 */
export interface OutputEvent {
  readonly kind: 'line' | 'rewritten';
  readonly text: string;
}

const ESC = '\u001b';
/** Escape sequences that move the cursor to column 1. */
const COLUMN_ONE = new RegExp(`${ESC}\\[1?G`, 'g');
/**
 * Escape sequences that erase within the line. They are dropped, because the whole line is
 * replaced.
 */
const ERASE_IN_LINE = new RegExp(`${ESC}\\[[012]?K`, 'g');
/** An escape sequence that continues in the next chunk. */
const UNFINISHED_ESCAPE = new RegExp(`${ESC}(?:\\[[0-9;?]*)?$`);

/**
 * Splits a stream of bytes into lines as a terminal would show them. A chunk may end anywhere:
 * within a character, within `\r\n`, within an escape sequence.
 */
export class LineReader {
  readonly #decoder = new StringDecoder('utf8');
  #held = '';
  #current = '';
  /** Whether a carriage return came last, so the next text replaces the line. */
  #returned = false;

  /** The text after the last line end, as a terminal would show it. */
  get unfinished(): string {
    return this.#current;
  }

  push(chunk: Buffer): OutputEvent[] {
    return this.#read(this.#decoder.write(chunk));
  }

  /** The events for the rest of the stream, after its end. */
  end(): OutputEvent[] {
    const events = this.#read(this.#decoder.end());
    const text = this.#current + this.#held;
    this.#current = this.#held = '';
    if (text) events.push({ kind: 'line', text });
    return events;
  }

  #read(text: string): OutputEvent[] {
    const full = this.#held + text;
    this.#held = UNFINISHED_ESCAPE.exec(full)?.[0] ?? '';
    const plain = full
      .slice(0, full.length - this.#held.length)
      .replace(COLUMN_ONE, '\r')
      .replace(ERASE_IN_LINE, '');
    const events: OutputEvent[] = [];
    for (const part of plain.split(/([\r\n])/)) this.#take(part, events);
    return events;
  }

  #take(part: string, events: OutputEvent[]): void {
    if (part === '\n') {
      events.push({ kind: 'line', text: this.#current });
      this.#current = '';
      this.#returned = false;
    } else if (part === '\r') {
      this.#returned = true;
    } else if (part) {
      if (this.#returned && this.#current) events.push({ kind: 'rewritten', text: this.#current });
      this.#current = this.#returned ? part : this.#current + part;
      this.#returned = false;
    }
  }
}
