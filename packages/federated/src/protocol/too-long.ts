/** Whether `ws` refused a message that is longer than any about the weights. It closes the connection. */
export function isTooLong(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
}
