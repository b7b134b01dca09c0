/** Downloads the Go module of Envoy Gateway. Its own tests say which rate limits each policy becomes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../process/parse-json.mjs';
import { which } from '../../process/programs.mjs';
import { ROOT } from '../../process/repository.mjs';
import { failureOf, run } from '../../process/run.mjs';
import { installIfMain } from '../fetch/tool.mjs';

const MODULE = 'github.com/envoyproxy/gateway';
const DOWNLOAD_TIMEOUT_S = 300;

/** @returns {Promise<import('../fetch/tool.mjs').Tool>} */
export async function installEnvoyGatewayModule() {
  const go = which('go');
  if (go === undefined)
    return {
      missing: `${MODULE} is a Go module, and go is not on PATH. Install Go (go.dev, or Debian and Ubuntu: \`apt-get install golang\` as root).`,
    };
  const needed = readFileSync(join(ROOT, 'test', 'kubernetes', 'go', 'envoy-gateway-config', 'go.mod'), 'utf8');
  const version = new RegExp(`${MODULE} (v\\S+)`).exec(needed)?.[1] ?? 'latest';
  const ended = await run(go, ['mod', 'download', '-json', `${MODULE}@${version}`], { timeoutS: DOWNLOAD_TIMEOUT_S, output: 'pipe' });
  if (ended.code !== 0) {
    console.error(ended.output);
    return {
      missing: `${MODULE} could not be downloaded: ${failureOf('go', ended, DOWNLOAD_TIMEOUT_S)}; its output is above. Check that Go can reach its module proxy.`,
    };
  }
  return { path: /** @type {{ Dir: string }} */ (parseJson(ended.stdout)).Dir };
}

await installIfMain(import.meta.url, installEnvoyGatewayModule);
