/** Runs VitePress: the development server on loopback, or a build of one version of the docs site. */
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ROOT } from '../process/repository.mjs';
import { run } from '../process/run.mjs';
import { addVersion } from './versions.mjs';

const SITE = join(ROOT, 'site');
const VITEPRESS = join(SITE, 'node_modules', 'vitepress', 'bin', 'vitepress.js');

const BUILD_TIMEOUT_S = 900;
/** Somebody ends it. */
const SERVE_TIMEOUT_S = 7 * 24 * 3600;

/** What test/support/site/served-site.ts expects. */
const TESTED = { version: '1.2.3', base: '/weir/' };

/**
 * Resolves to the exit code.
 *
 * @param {{ version: string, base: string, out: string }} options `out`: the folder of all versions, from the root of the repository.
 */
export async function buildSite({ version, base, out }) {
  const site = resolve(ROOT, out);
  const args = ['build', SITE, '--base', `${base}${version}/`, '--outDir', join(site, version)];
  const { code } = await run(process.execPath, [VITEPRESS, ...args], { timeoutS: BUILD_TIMEOUT_S, env: { WEIR_SITE_VERSION: version } });
  if (code === 0) addVersion(site, version);
  return code;
}

/** Builds the site that the tests open, under a path as anybody may host it. */
export async function buildTestedSite() {
  const path = join(ROOT, '.cache', 'site');
  rmSync(path, { recursive: true, force: true });
  const code = await buildSite({ ...TESTED, out: path });
  return { path, failure: code === 0 ? undefined : 'VitePress found the errors above in docs/ or site/' };
}

/** @param {{ port: string }} options */
export async function serveSite({ port }) {
  const { code } = await run(process.execPath, [VITEPRESS, 'dev', SITE, '--host', '127.0.0.1', '--port', port], {
    timeoutS: SERVE_TIMEOUT_S,
  });
  return code;
}
