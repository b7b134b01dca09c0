/** The docs site has every page and no broken link, and is accessible at three sizes in both themes. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { axe, openBrowser, openPage, overflow } from '../support/console/browser';
import { runCommand } from '../support/processes/command';
import { sampled } from '../support/random/random';
import { BASE, builtSite, serveSite, VERSION, type ServedSite } from '../support/site/served-site';

const BUILT_WITHIN_MS = 600_000;

const PAGES = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));

let folder: string;
let site: ServedSite;
let browser: Browser;

beforeAll(async () => {
  [folder, browser] = await Promise.all([builtSite(), openBrowser()]);
  site = await serveSite(folder);
}, BUILT_WITHIN_MS);

afterAll(async () => {
  await browser.close();
  await site.close();
});

function built(name: string): string {
  return readFileSync(path.join(folder, VERSION, name), 'utf8');
}

/** Attributes of the built page, without entities. */
function attributes(html: string, name: string): readonly string[] {
  return Array.from(html.matchAll(new RegExp(` ${name}="([^"]*)"`, 'g')), ([, value = '']) => value.replaceAll('&amp;', '&'));
}

const HTML = PAGES.map((page) => page.replace(/\.md$/, '.html'));

test('the navigation has each page once, for the reader for whom docs/README.md lists it', () => {
  const [, sidebar = ''] = /<aside class="VPSidebar"(.*?)<\/aside>/s.exec(built('index.html')) ?? [];
  const links = attributes(sidebar, 'href').map((href) => href.replace(`${BASE}${VERSION}/`, ''));
  expect([...links].sort()).toEqual(HTML.filter((page) => !['index.html', 'README.html'].includes(page)).sort());
  const readers = Array.from(readFileSync('docs/README.md', 'utf8').matchAll(/^## (.*)$/gm), ([, title = '']) => title);
  expect(readers.length).toBe(4);
  expect(Array.from(sidebar.matchAll(/<h2[^>]*>([^<]*)<\/h2>/g), ([, title]) => title)).toEqual(readers);
  const place = (name: string) => sidebar.indexOf(name);
  expect(place('Operators')).toBeLessThan(place('/runbook.html'));
  expect(place('/runbook.html')).toBeLessThan(place('Owners of an API'));
});

test('each link of each page leads to a file of the site, and to a place in it', () => {
  const ids = new Map(HTML.map((page) => [page, new Set(attributes(built(page), 'id').map((id) => decodeURIComponent(id)))]));
  const links = HTML.flatMap((page) =>
    [...attributes(built(page), 'href'), ...attributes(built(page), 'src')]
      .filter((href) => !/^(?:https?:|data:|mailto:)/.test(href))
      .map((href) => ({ page, href, to: new URL(href, `http://site${BASE}${VERSION}/${page}`) })),
  );
  const broken = links.filter(({ to: { pathname, hash } }) => {
    const name = decodeURIComponent(pathname).replace(`${BASE}${VERSION}/`, '') || 'index.html';
    if (!existsSync(path.join(folder, VERSION, name))) return true;
    // `#` alone leads to the beginning, and the page Try keeps its settings behind it.
    return hash.length > 1 && ids.get(name)?.has(decodeURIComponent(hash.slice(1))) !== true;
  });
  expect(links.length).toBeGreaterThan(3_000);
  expect(broken.map(({ page, href }) => `${page}: ${href}`)).toEqual([]);
});

test('llms.txt lists the Markdown of each page, and llms-full.txt has all of them', () => {
  const links = Array.from(built('llms.txt').matchAll(/^- \[[^\]]+\]\(([^)]+)\)$/gm), ([, link = '']) => link);
  expect(links.length).toBe(PAGES.length - 2);
  for (const link of links) expect(built(link.replace(`${BASE}${VERSION}/`, ''))).toMatch(/^# /);
  const full = built('llms-full.txt');
  for (const page of PAGES) expect(full).toContain(readFileSync(path.join('docs', page), 'utf8').trim());
});

test('code of templates and tables of the pages are shown as they are written', () => {
  expect(built('headers.html')).toContain('<code v-pre>{{</code>'.replace(' v-pre', ''));
  expect(built('kubernetes.html')).toContain('{{ include');
});

interface Linked {
  readonly href?: string;
  readonly copied?: string;
}

async function linkOf(href: string, repository: string | undefined): Promise<Linked | string> {
  const options = JSON.stringify({ page: 'kubernetes.md', revision: 'v0.1.0', ...(repository !== undefined && { repository }) });
  const script = `import { linkOf } from './scripts/site/outside-links.mjs'; console.log(JSON.stringify(linkOf(${JSON.stringify(href)}, ${options})));`;
  const { exitCode, stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '-e', script]);
  return exitCode === 0 ? (JSON.parse(stdout) as Linked) : stderr;
}

test('a link that leaves docs/ leads into the repository if package.json says where that is, else to a copy, or nowhere', async () => {
  const known = 'https://forge.example/weir';
  const readme = '../deploy/README.md#release';
  expect(await linkOf(readme, known)).toEqual({ href: `${known}/blob/v0.1.0/deploy/README.md#release` });
  expect(await linkOf('../deploy/envoy', known)).toEqual({ href: `${known}/tree/v0.1.0/deploy/envoy` });
  expect(await linkOf(readme, undefined)).toEqual({ href: '/repository/deploy/README.md.txt', copied: 'deploy/README.md' });
  expect(await linkOf('../src/main.ts', undefined)).toEqual({});
  expect(await linkOf('redis.md#tls', known)).toEqual({ href: 'redis.md#tls' });
  expect(await linkOf('../nowhere.md', known)).toContain('docs/kubernetes.md has a dead link: ../nowhere.md');
});

test('a wrong version, base or option is refused with what to write', async () => {
  for (const [args, message] of [
    [['--version', '../../etc'], 'write a version such as 0.1.0'],
    [['--base', 'weir'], 'write a path with a slash at both ends'],
    [['--publish'], 'npm run docs: Unknown option'],
  ] as const) {
    const { exitCode, stderr } = await runCommand(process.execPath, ['scripts/docs.mjs', '--build', ...args]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(message)]);
  }
});

test('the list of versions has the newest release first, and the address without a version leads there', async () => {
  const out = mkdtempSync(path.join(tmpdir(), 'weir-versions-'));
  const add = ['next', '0.9.0', '0.10.0-rc.2', '0.10.0', '0.11.0-rc.1', '0.10.0-rc.10'].map(
    (version) => `addVersion(${JSON.stringify(out)}, '${version}');`,
  );
  const script = `import { addVersion } from './scripts/site/versions.mjs'; ${add.join(' ')}`;
  await runCommand(process.execPath, ['--input-type=module', '-e', script]);
  const { versions } = JSON.parse(readFileSync(path.join(out, 'versions.json'), 'utf8')) as { readonly versions: readonly string[] };
  expect(versions).toEqual(['0.11.0-rc.1', '0.10.0', '0.10.0-rc.10', '0.10.0-rc.2', '0.9.0', 'next']);
  expect(readFileSync(path.join(out, 'index.html'), 'utf8')).toContain('url=./0.10.0/');
});

test('only the site needs its programs, and it has the preact of the console', () => {
  const [root, own] = ['package-lock.json', 'site/package-lock.json'].map(
    (file) =>
      (JSON.parse(readFileSync(file, 'utf8')) as { readonly packages: Readonly<Record<string, { readonly version: string }>> }).packages,
  );
  expect(root?.['node_modules/vitepress']).toBeUndefined();
  expect(own?.['node_modules/vitepress']?.version).toBe('1.6.4');
  expect(own?.['node_modules/preact']?.version).toBe(root?.['node_modules/preact']?.version);
});

test('the types of the page Try are right', async () => {
  const { exitCode, stdout } = await runCommand(process.execPath, [
    'node_modules/typescript-native/bin/tsc',
    '--noEmit',
    '-p',
    'site/tsconfig.json',
  ]);
  expect([exitCode, stdout]).toEqual([0, '']);
});

test('the choice of a version leads to the same page of another one, or to its first page', async () => {
  const other = path.join(folder, '0.0.9');
  const versions = readFileSync(path.join(folder, 'versions.json'), 'utf8');
  await runCommand('mkdir', ['-p', other]);
  for (const name of ['index', 'redis']) writeFileSync(path.join(other, `${name}.html`), `<!doctype html><title>old ${name}</title>`);
  writeFileSync(path.join(folder, 'versions.json'), JSON.stringify({ versions: [VERSION, '0.0.9'] }));
  const { page, faults, close } = await openPage(browser, { url: site.origin, viewport: { width: 1280, height: 900 } });
  for (const [from, title] of [
    ['redis.html', 'old redis'],
    ['try.html', 'old index'],
  ] as const) {
    await page.goto(site.at(from));
    await page.locator('.in-bar').getByLabel('Version').selectOption('0.0.9');
    await page.waitForFunction(`document.title === '${title}'`);
  }
  expect(faults).toEqual([]);
  await close();
  writeFileSync(path.join(folder, 'versions.json'), versions);
});

test('the search finds a page by its words, without a server', async () => {
  const { page, faults, close } = await openPage(browser, { url: site.origin, viewport: { width: 1280, height: 900 } });
  await page.goto(site.at('index.html'));
  await page.getByRole('button', { name: 'Search' }).click();
  await page.locator('.search-input').fill('REDIS_OP_TIMEOUT');
  await page.locator('.result').first().click();
  await page.waitForURL((url) => !url.pathname.endsWith('/index.html'));
  await page.locator('main', { hasText: /redis/i }).waitFor();
  expect(faults).toEqual([]);
  await close();
});

/** Prose with a picture, and the engines; beside them a page of tables and code, which is long, once in each theme. */
const LOOKED_AT = ['index.html', 'try.html'];
const LONG = { name: 'libraries.html', width: 360 };

async function isThere(page: Page, name: string): Promise<void> {
  await page.goto(site.at(name));
  await page.getByRole('heading', { level: 1 }).waitFor();
  if (name === 'try.html') await page.locator('.try svg').first().waitFor();
}

describe.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
  test.each([360, 768, 1280])('pages are accessible and fit at %d px', async (width) => {
    const { page, faults, close } = await openPage(browser, { url: site.origin, viewport: { width, height: 900 }, colorScheme });
    for (const name of [...LOOKED_AT, ...(width === LONG.width ? [LONG.name] : [])]) {
      await isThere(page, name);
      expect([name, await axe(page)]).toEqual([name, []]);
      expect([name, await overflow(page)]).toEqual([name, 0]);
    }
    expect(faults).toEqual([]);
    await close();
  });
});

test('every page fits 360 px, and loads without a fault or a request to another host', async () => {
  const { page, faults, close } = await openPage(browser, { url: site.origin, viewport: { width: 360, height: 800 } });
  const wide: string[] = [];
  for (const name of sampled(HTML, { part: 1 / 4 })) {
    await isThere(page, name);
    if ((await overflow(page)) > 0) wide.push(name);
  }
  expect([wide, faults]).toEqual([[], []]);
  await close();
});
