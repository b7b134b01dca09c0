/** How VitePress builds docs/ into a site: everything that is taken from the repository comes from scripts/site/. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { publish } from '../../scripts/site/publish.mjs';
import { readAsForges } from '../../scripts/site/markdown.mjs';
import { menu, sidebar } from '../../scripts/site/navigation.mjs';
import { anchorOf } from '../../scripts/site/pages.mjs';
import { UNRELEASED } from '../../scripts/site/versions.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const VERSION = process.env.WEIR_SITE_VERSION ?? UNRELEASED;

/** Files outside docs/ to which pages link. */
const copied = new Set();

const icon = readFileSync(`${ROOT}src/administration/console/icon.svg`, 'utf8');
const { description } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'));

export default {
  title: 'Weir',
  description,
  lang: 'en',
  srcDir: '../docs',
  cacheDir: '../.cache/vitepress',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  markdown: {
    // The comments of the usual ones are too pale.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: anchorOf },
    config: (md) => {
      readAsForges(md, { revision: VERSION === UNRELEASED ? 'main' : `v${VERSION}`, copied });
    },
  },
  // The engines need its width, and its hash has the settings of the page Try, not a heading.
  transformPageData: ({ relativePath, frontmatter }) =>
    relativePath === 'try.md' ? { frontmatter: { ...frontmatter, aside: false, outline: false } } : undefined,
  buildEnd: ({ outDir, site }) => {
    publish({ outDir, base: site.base, description, copied });
  },
  vite: {
    plugins: [
      {
        // Pages are outside the folder of these packages.
        name: 'packages-of-pages',
        enforce: 'pre',
        resolveId(id, importer = '', options) {
          if (!/^vue($|\/)/.test(id) || !importer.startsWith(`${ROOT}docs/`)) return undefined;
          return this.resolve(id, `${ROOT}site/package.json`, { skipSelf: true, ...options });
        },
      },
    ],
    // The engines of the page Try are written for Node.
    resolve: {
      alias: {
        buffer: `${ROOT}site/node_modules/buffer/index.js`,
        'node:crypto': `${ROOT}site/try/node/crypto.ts`,
        'node:timers/promises': `${ROOT}site/try/node/timers.ts`,
        'node:util/types': `${ROOT}site/try/node/util-types.ts`,
      },
    },
    worker: { format: 'es' },
    server: { fs: { allow: [ROOT] } },
    build: { chunkSizeWarningLimit: 2_000 },
  },
  themeConfig: {
    version: VERSION,
    nav: menu(),
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local' },
  },
};
