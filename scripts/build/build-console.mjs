/** Builds the console of src/administration/console into dist/administration/console: one script, one stylesheet and the page, under hashed names, and compressed. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { ROOT } from '../process/repository.mjs';

const SOURCE = join(ROOT, 'src', 'administration', 'console');
const OUTPUT = join(ROOT, 'dist', 'administration', 'console');

/** Browsers with these features: of 2023 and later. */
const TARGET = ['es2022', 'chrome110', 'firefox110', 'safari16'];

/**
 * Resolves to what failed, or to undefined. Without its source or the bundler the build has no console. `npm start` installs only what
 * serving needs, so it does not mention that; `ADMIN_PORT` without a console is logged.
 *
 * @param {{ mentionsMissing: boolean }} options
 */
export async function buildConsole({ mentionsMissing }) {
  if (!existsSync(SOURCE)) return undefined;
  const bundler = await import('esbuild').catch(() => undefined);
  if (bundler === undefined) {
    if (mentionsMissing) console.log('Building dist/ without the console: esbuild is not installed (npm install).');
    return undefined;
  }
  const built = await bundler
    .build({
      entryPoints: [join(SOURCE, 'main.tsx')],
      bundle: true,
      minify: true,
      format: 'esm',
      target: TARGET,
      jsx: 'automatic',
      jsxImportSource: 'preact',
      tsconfig: join(SOURCE, 'tsconfig.json'),
      legalComments: 'none',
      outdir: OUTPUT,
      write: false,
      logLevel: 'warning',
    })
    .catch(() => undefined);
  // Its service would run as long as this process, which may go on to serve.
  await bundler.stop();
  if (built === undefined) return 'esbuild found the errors above in src/administration/console';
  rmSync(OUTPUT, { recursive: true, force: true });
  mkdirSync(OUTPUT, { recursive: true });
  const names = new Map(built.outputFiles.map(({ path, contents }) => [extname(path), writeHashed(extname(path), contents)]));
  names.set('.svg', writeHashed('.svg', readFileSync(join(SOURCE, 'icon.svg'))));
  const page = readFileSync(join(SOURCE, 'index.html'), 'utf8')
    .replace('/SCRIPT', `/${names.get('.js') ?? ''}`)
    .replace('/STYLE', `/${names.get('.css') ?? ''}`)
    .replace('/ICON', `/${names.get('.svg') ?? ''}`);
  write('index.html', Buffer.from(page));
  return undefined;
}

/**
 * The name has the hash of the content, so a browser may keep the file forever.
 *
 * @param {string} ending
 * @param {Uint8Array} content
 */
function writeHashed(ending, content) {
  const name = `console-${createHash('sha256').update(content).digest('hex').slice(0, 16)}${ending}`;
  write(name, Buffer.from(content));
  return name;
}

/**
 * @param {string} name
 * @param {Buffer} content
 */
function write(name, content) {
  writeFileSync(join(OUTPUT, name), content);
  writeFileSync(join(OUTPUT, `${name}.gz`), gzipSync(content, { level: constants.Z_BEST_COMPRESSION }));
  writeFileSync(join(OUTPUT, `${name}.br`), brotliCompressSync(content));
}
