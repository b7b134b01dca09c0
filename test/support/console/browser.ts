/** Chromium for a test of the console, or of another site: each page reports its errors, its requests to other hosts, and what its policy refused. */
import { readFileSync } from 'node:fs';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { hangLimitMs } from '../clock/hang-limit';

const CHROMIUM = process.env.WEIR_CHROMIUM ?? '/usr/bin/chromium';

/** A busy machine needs long for a page. */
const TIMEOUT_MS = hangLimitMs(30_000);

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Chromium runs as root in a container, where its own sandbox cannot start. */
const ARGS = ['--no-sandbox', '--disable-dev-shm-usage'];

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ARGS, timeout: TIMEOUT_MS });
}

export interface ConsolePage {
  readonly page: Page;
  /** What no page may do. */
  readonly faults: string[];
  readonly close: () => Promise<void>;
}

export interface OpenOptions extends BrowserContextOptions {
  readonly url: string;
  /** Absent: nobody signs in. */
  readonly token?: string;
}

export async function openConsole(browser: Browser, { url, token, ...options }: OpenOptions): Promise<ConsolePage> {
  const opened = await openPage(browser, { url, ...options });
  await opened.page.goto(`${url}/`);
  if (token !== undefined) await signIn(opened.page, token);
  return opened;
}

/** An empty page that may load what is below the address, and what pages have in them. */
export async function openPage(browser: Browser, { url, ...options }: Omit<OpenOptions, 'token'>): Promise<ConsolePage> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(TIMEOUT_MS);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // Chromium reports each answer with an error status here too.
    if (['error', 'warning'].includes(message.type()) && !message.text().startsWith('Failed to load resource')) faults.push(message.text());
  });
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const from = request.url().replace(/^blob:/, '');
    if (!from.startsWith(`${url}/`) && !from.startsWith('data:')) faults.push(`request: ${request.url()}`);
  });
  await page.addInitScript(
    'addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`))',
  );
  return { page, faults, close: () => context.close() };
}

/** By keyboard: the field has the focus. */
export async function signIn(page: Page, token: string): Promise<void> {
  // The page shows the field a moment before it gives it the focus.
  await page.getByLabel('Token').and(page.locator(':focus')).waitFor();
  await page.keyboard.type(token);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** What axe-core finds, as texts. */
export async function axe(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const violations: readonly Violation[] = await page.evaluate('axe.run().then(({ violations }) => violations)');
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''} ${nodes[0]?.failureSummary ?? ''}`);
}

/** By how many pixels the page is wider than its window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - innerWidth');
}

/** Moves the focus by the key Tab until it is on the element. */
export async function tabTo(page: Page, name: string): Promise<void> {
  const isThere = `(() => { const at = document.activeElement; return (at?.getAttribute('aria-label') ?? at?.labels?.[0]?.textContent ?? at?.textContent ?? '').trim(); })()`;
  const seen: string[] = [];
  for (let presses = 0; presses < 150; presses += 1) {
    const at: string = await page.evaluate(isThere);
    if (at === name) return;
    seen.push(at);
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab never reaches "${name}": ${[...new Set(seen)].join(' | ')}`);
}
