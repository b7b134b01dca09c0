/** Writes the digest of every image that a file of this repository starts beside its tag: `[--mirror HOST] [--plain-http]`. Run it again for newer ones. */
import { parseArgs } from 'node:util';
import { installOras } from '../install/go/oras.mjs';
import { exitWith } from '../process/repository.mjs';
import { fullName, pinImages } from './images.mjs';
import { regenerate } from './regenerate.mjs';
import { outputOf } from './steps/command.mjs';

const { values } = parseArgs({
  options: { mirror: { type: 'string', default: 'docker.io' }, 'plain-http': { type: 'boolean', default: false } },
});
const { path: oras, missing } = await installOras();
if (oras === undefined) exitWith(missing);
try {
  const pinned = await pinImages({ resolve: digestOf });
  for (const image of pinned.values()) console.log(image);
} catch (error) {
  exitWith(error instanceof Error ? error.message : String(error));
}
await regenerate();

/** @param {string} image */
async function digestOf(image) {
  const options = values['plain-http'] ? ['--plain-http'] : [];
  return (await outputOf(String(oras), ['resolve', ...options, fullName(image, values.mirror)])).trim();
}
