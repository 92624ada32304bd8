/**
 * The process that runs the specs. run.mjs starts it with an IPC channel. It only reports events.
 * run.mjs survives a crash of native code, and compares the events with the expected ones.
 */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const Jasmine = createRequire(import.meta.url)('jasmine');
const { bundle, setup, filter, specTimeoutMs } = JSON.parse(process.argv[2]);
const send = (message) => process.send(message);

process.once('disconnect', () => process.exit(1));

const jasmine = new Jasmine();
try {
  const { defineSpecs } = await import(pathToFileURL(bundle).href);
  await defineSpecs(setup);
} catch (error) {
  send({ type: 'unavailable', message: `${error.code ? `${error.code}: ` : ''}${error.message ?? error}` });
  process.exit(1);
}

const nameById = uniqueNames(jasmine.env.topSuite());
send({ type: 'defined', names: [...nameById.values()] });

jasmine.jasmine.DEFAULT_TIMEOUT_INTERVAL = specTimeoutMs;
jasmine.randomizeTests(false);
jasmine.exitOnCompletion = false;
jasmine.clearReporters();
jasmine.addReporter(reportTo(send));
if (filter !== undefined)
  jasmine.env.configure({ specFilter: (spec) => nameById.get(spec.id).includes(filter) });
const { incompleteReason } = await jasmine.execute();
const maxRssBytes = process.resourceUsage().maxRSS * 1024;
process.send({ type: 'end', incompleteReason, maxRssBytes }, () => process.exit(0));

/**
 * Full names by spec id, in the order of definition. The second spec of one name gets the suffix `
 * #2`.
 */
function uniqueNames(topSuite) {
  const names = new Map();
  const taken = new Map();
  const visit = (node) => {
    if (node.children) return node.children.forEach(visit);
    const name = node.getFullName();
    const count = (taken.get(name) ?? 0) + 1;
    taken.set(name, count);
    names.set(node.id, count === 1 ? name : `${name} #${count}`);
  };
  visit(topSuite);
  if (new Set(names.values()).size !== names.size) throw new Error('A suffix made two full names the same.');
  return names;
}

function reportTo(send) {
  const messages = (result) => result.failedExpectations.map((failure) => failure.message);
  const outsideSpecs = (name, result) => {
    if (result.failedExpectations.length > 0) send({ type: 'outside', name, messages: messages(result) });
  };
  return {
    specStarted: ({ id }) => send({ type: 'started', name: nameById.get(id) }),
    specDone: (result) =>
      send({
        type: 'spec',
        name: nameById.get(result.id),
        status: result.status,
        messages: messages(result),
      }),
    suiteDone: (result) => outsideSpecs(`${result.fullName} (beforeAll or afterAll)`, result),
    jasmineDone: (result) => outsideSpecs('(outside all suites)', result),
  };
}
