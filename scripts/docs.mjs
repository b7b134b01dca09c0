/**
 * `npm run docs` serves the docs site on this machine while its pages are written. `npm run docs -- --build [--version 0.1.0] [--base /weir/]`
 * builds it into site/dist/, in a folder for the version, beside the versions that are there.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { installNpmPackages } from './install/npm-packages.mjs';
import { installSitePackages } from './install/site-packages.mjs';
import { exitWith } from './process/repository.mjs';
import { buildSite, serveSite } from './site/build-site.mjs';
import { UNRELEASED, whyNoVersion } from './site/versions.mjs';

const OPTIONS = /** @type {const} */ ({
  build: { type: 'boolean' },
  version: { type: 'string', default: UNRELEASED },
  base: { type: 'string', default: '/' },
  out: { type: 'string', default: join('site', 'dist') },
  port: { type: 'string', default: '5173' },
});

/** A path of a server, with a slash at both ends. */
const BASE = /^\/(?:[\w.-]+\/)*$/;

const { build = false, version, base, out, port } = readOptions();
const whyNot = whyNoVersion(version) ?? (BASE.test(base) ? undefined : '--base: write a path with a slash at both ends, such as /weir/');
if (whyNot !== undefined) exitWith(whyNot);
const failure = (await installNpmPackages()) ?? (await installSitePackages()).missing;
if (failure !== undefined) exitWith(failure);
process.exitCode = build ? await buildSite({ version, base, out }) : await serveSite({ port });

function readOptions() {
  try {
    return parseArgs({ options: OPTIONS, strict: true }).values;
  } catch (error) {
    return exitWith(`npm run docs: ${error instanceof Error ? error.message : String(error)}`);
  }
}
