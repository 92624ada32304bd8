import { StringDecoder } from 'node:string_decoder';

/** `line`: ended by a line feed or the end of the output. `rewritten`: a carriage return let newer text replace it. */
export interface OutputEvent {
  readonly kind: 'line' | 'rewritten';
  readonly text: string;
}

const ESC = '\u001b';
/** Ways that programs say "to the start of the line": cursor to column 1. */
const COLUMN_ONE = new RegExp(`${ESC}\\[1?G`, 'g');
/** Erasing within the line, which replacing the whole of it makes superfluous. */
const ERASE_IN_LINE = new RegExp(`${ESC}\\[[012]?K`, 'g');
/** An escape sequence whose end is in the next chunk. */
const UNFINISHED_ESCAPE = new RegExp(`${ESC}(?:\\[[0-9;?]*)?$`);

/**
 * Cuts a stream of bytes into lines as a terminal would show them. Chunks may end anywhere: within a character,
 * within `\r\n`, within an escape sequence.
 */
export class LineReader {
  readonly #decoder = new StringDecoder('utf8');
  #held = '';
  #current = '';
  /** A carriage return came: the next text replaces the line. */
  #returned = false;

  /** The text since the last line end, as a terminal would show it. */
  get unfinished(): string {
    return this.#current;
  }

  push(chunk: Buffer): OutputEvent[] {
    return this.#read(this.#decoder.write(chunk));
  }

  /** What is left when the stream has ended. */
  end(): OutputEvent[] {
    const events = this.#read(this.#decoder.end());
    const text = this.#current + this.#held;
    this.#current = this.#held = '';
    if (text) events.push({ kind: 'line', text });
    return events;
  }

  #read(text: string): OutputEvent[] {
    const whole = this.#held + text;
    this.#held = UNFINISHED_ESCAPE.exec(whole)?.[0] ?? '';
    const plain = whole
      .slice(0, whole.length - this.#held.length)
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
