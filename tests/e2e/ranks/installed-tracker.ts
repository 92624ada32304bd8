// Logs to a tracker by the name of a package that is installed in the working directory.
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';

const name = process.argv[2]!;
const accelerator = await Accelerator.create({ logWith: [name] });
await accelerator.initTrackers('installed', { lr: 0.1 }, { [name]: { folder: 'stored' } });
for (let step = 0; step < 3; step++) accelerator.log({ loss: step }, { step });
const tracker = accelerator.getTracker('demo')?.name;
await accelerator.endTraining();
const missing = await Accelerator.create({ logWith: ['acc-tracker-not-there'] })
  .then((other) => other.initTrackers('x'))
  .catch((error: unknown) => error as { code: string; help: string });
reportResult({ tracker, missing: missing && { code: missing.code, help: missing.help } });
