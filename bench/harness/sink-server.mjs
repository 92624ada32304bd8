/**
 * A server in its own process that accepts the requests of an MLflow tracker and stores nothing.
 * Prints its port.
 */
import { createServer } from 'node:http';

const run = { info: { run_id: 'run', experiment_id: '0', artifact_uri: 'mlflow-artifacts:/' }, data: {} };
const ANSWERS = { 'experiments/get-by-name': { experiment: { experiment_id: '0' } }, 'runs/create': { run } };

const server = createServer((request, response) => {
  const path = new URL(request.url, 'http://x').pathname.replace('/api/2.0/mlflow/', '');
  request.on('data', () => undefined).on('end', () => response.end(JSON.stringify(ANSWERS[path] ?? {})));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
// The server ends together with the bench.
process.stdin.on('end', () => process.exit()).resume();
