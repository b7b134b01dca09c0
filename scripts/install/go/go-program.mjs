/** Builds a Go program into .cache/. Nothing else changes, except Go's own caches. */
import { createHash } from 'node:crypto';
import { readFileSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isExecutable, which } from '../../process/programs.mjs';
import { ROOT } from '../../process/repository.mjs';
import { failureOf, run } from '../../process/run.mjs';
import { beginFetch } from '../fetch/fetch-plan.mjs';
import { withUnfinishedFolder } from '../fetch/tool.mjs';

const BUILD_TIMEOUT_S = 600;

/**
 * Builds a program once: `path` names its version. `args` follow `go` and leave `program` in their folder, which is also GOBIN.
 *
 * @param {{ name: string, path: string, program: string, args: (folder: string) => readonly string[] }} options
 * @returns {Promise<import('../fetch/tool.mjs').Tool>}
 */
export async function buildGoProgram({ name, path, program, args }) {
  if (isExecutable(path)) return { path };
  const go = which('go');
  if (go === undefined)
    return {
      missing: `${name} is built with Go, and go is not on PATH. Install Go (go.dev, or Debian and Ubuntu: \`apt-get install golang\` as root), then run the command again.`,
    };
  beginFetch({ name: basename(dirname(path)), by: `go, ${name}`, isGo: true });
  return withUnfinishedFolder(dirname(path), async (unfinished) => {
    const ended = await run(go, args(unfinished), {
      timeoutS: BUILD_TIMEOUT_S,
      env: { GOBIN: unfinished, GOFLAGS: '-buildvcs=false -trimpath' },
      output: 'pipe',
    });
    if (ended.code !== 0) {
      console.error(ended.output);
      return {
        missing: `${name} could not be built: ${failureOf('go', ended, BUILD_TIMEOUT_S)}; its output is above. Check that Go is new enough and can reach its module proxy, then run the command again.`,
      };
    }
    renameSync(join(unfinished, program), path);
    return { path };
  });
}

/**
 * Builds a program of this repository, or one whose modules are pinned here, again when its source has changed. Its folder of .cache has its name.
 *
 * @param {{ program: string, source: string, main?: string }} options `source` is a folder of the repository with go.mod and go.sum; `main` is the
 * package with the program: by default main.go in that folder.
 * @returns {Promise<import('../fetch/tool.mjs').Tool>}
 */
export function buildGoSource({ program, source, main = '.' }) {
  const folder = join(ROOT, source);
  const hash = createHash('sha256');
  for (const name of ['go.mod', 'go.sum', ...(main === '.' ? ['main.go'] : [])]) hash.update(readFileSync(join(folder, name)));
  return buildGoProgram({
    name: source,
    path: join(ROOT, '.cache', program, hash.digest('hex').slice(0, 16)),
    program,
    args: (unfinished) => ['build', '-C', folder, '-mod=readonly', '-o', join(unfinished, program), main],
  });
}
