const MESSAGE_LINES = 4;
const LINE_LENGTH = 240;

/** The line that counts specs while they run. It is not shown if the output is not a terminal. */
export function progressLine(stream = process.stdout) {
  let drawnAt = 0;
  return {
    draw(done, total) {
      if (!stream.isTTY || (Date.now() - drawnAt < 100 && done !== total)) return;
      drawnAt = Date.now();
      stream.write(`\r\x1b[K${done} / ${total} specs`);
    },
    clear() {
      if (stream.isTTY) stream.write('\r\x1b[K');
    },
  };
}

/**
 * The text at the end of a run. Its last line is `N passed, N failed`, where failed counts every
 * unexpected result.
 *
 * @param verdict The result of `judge` in run.mjs.
 * @param {{seconds: number, maxRssBytes: number, logPath: string}} facts
 */
export function formatReport(verdict, { seconds, maxRssBytes, logPath }) {
  const { problems, passed, expectedFailures, pending } = verdict;
  const blocks = problems.map(({ name, messages }) => [`✗ ${name}`, ...messages.map(shorten)].join('\n'));
  const peak = maxRssBytes > 0 ? `, peak memory ${Math.round(maxRssBytes / 2 ** 20)} MiB` : '';
  const facts = [
    `${expectedFailures} expected failures, ${pending} pending in tfjs-core`,
    `${seconds.toFixed(1)} s${peak}, output of the specs in ${logPath}`,
    `${passed} passed, ${problems.length} failed`,
  ];
  return [...blocks, facts.join('\n')].join('\n\n');
}

/**
 * The first lines of a message, indented. A stack or a printed tensor can have thousands of
 * characters.
 */
function shorten(message) {
  const lines = message.split('\n').filter((line) => line.trim() !== '');
  const cut = lines.slice(0, MESSAGE_LINES).map((line) => line.slice(0, LINE_LENGTH));
  if (lines.length > MESSAGE_LINES) cut.push('…');
  return cut.map((line) => `    ${line}`).join('\n');
}
