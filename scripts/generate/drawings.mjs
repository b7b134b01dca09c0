/** `node scripts/generate/drawings.mjs`: makes the drawings of docs/images from a Weir that runs and decides. Needs a build and redis-server. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { installRedis } from '../install/system/redis.mjs';
import { ROOT, exitWith } from '../process/repository.mjs';
import { drawFallback } from './drawings/fallback.mjs';
import { drawRequestPath } from './drawings/request-path.mjs';
import { drawTwoTier } from './drawings/two-tier.mjs';

const USAGE = `Usage: node scripts/generate/drawings.mjs [--out FOLDER]
  --out FOLDER   default: docs/images`;
const CONFIGS = join('scripts', 'generate', 'drawings');
const LIMITS = join(CONFIGS, 'limits.yaml');

/** By file. */
const DRAWINGS = {
  'request-path.svg': () => drawRequestPath(LIMITS),
  'two-tier.svg': () => drawTwoTier(LIMITS),
  'fallback.svg': () => drawFallback(join(CONFIGS, 'outage.yaml')),
};

const out = readOut();
const { path: redis, missing } = await installRedis();
if (missing !== undefined) exitWith(missing);
process.env.WEIR_REDIS_SERVER = redis;
mkdirSync(out, { recursive: true });
for (const [file, draw] of Object.entries(DRAWINGS)) {
  const path = join(out, file);
  writeFileSync(path, await draw());
  console.log(path);
}

function readOut() {
  try {
    return parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'docs', 'images') } } }).values.out;
  } catch (error) {
    return exitWith(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}
