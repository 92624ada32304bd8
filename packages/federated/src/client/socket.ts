/** The part of a WebSocket that is used, in pages and in Node.js alike. */
export interface Socket {
  binaryType: string;
  send(data: Uint8Array): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'error', listener: (event: { readonly error?: unknown }) => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code: number }) => void): void;
}

export interface SocketRequest {
  readonly url: string;
  readonly protocols: readonly string[];
  /** The longest message to expect, in bytes. */
  readonly maxFrameBytes: number;
}

/** Begins a connection. */
export type OpenSocket = (request: SocketRequest) => Socket | Promise<Socket>;
