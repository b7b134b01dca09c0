/**
 * A web component that shows a tenant what it has used: <weir-usage src="https://limits.example/v1/usage"></weir-usage>.
 * The page sets the property `token` to a short-lived token of the tenant, and may set `lang`. Copy the file; it needs nothing else.
 */
const STYLE = `
  :host { display: block; font: 1rem/1.5 system-ui, sans-serif; }
  table { border-collapse: collapse; width: 100%; }
  caption, th, td { text-align: left; padding: .25rem .5rem; }
  caption { font-weight: 600; padding-left: 0; }
  td:nth-child(n + 2), th:nth-child(n + 2) { text-align: right; font-variant-numeric: tabular-nums; }
  th { overflow-wrap: anywhere; }
  meter { display: block; margin-left: auto; width: min(8rem, 100%); }
  @media (max-width: 30rem) { table { font-size: .8rem; } caption, th, td { padding: .25rem .15rem; } }
  .note { margin: .25rem 0 1rem; }
`;

/** Milliseconds between two questions. Weir keeps an answer for a second. */
const EVERY_MS = 15_000;

class WeirUsage extends HTMLElement {
  #token = '';
  #timer;
  #asked = 0;

  connectedCallback() {
    if (this.shadowRoot === null) this.attachShadow({ mode: 'open' }).innerHTML = `<style>${STYLE}</style><div aria-live="polite"></div>`;
    this.#timer = setInterval(() => void this.#ask(), EVERY_MS);
    void this.#ask();
  }

  disconnectedCallback() {
    clearInterval(this.#timer);
  }

  /** Set it again before it ends. */
  set token(token) {
    this.#token = token;
    if (this.isConnected) void this.#ask();
  }

  async #ask() {
    const src = this.getAttribute('src');
    if (src === null || this.#token === '') return;
    const asked = (this.#asked += 1);
    try {
      const response = await fetch(src, { headers: { authorization: `Bearer ${this.#token}` }, credentials: 'omit' });
      const body = await response.json();
      if (asked !== this.#asked) return;
      if (response.ok) this.#show(body.descriptors.flatMap((each) => descriptorParts(each, this.lang)));
      else this.#show([note(body.detail ?? `The usage cannot be read now (${response.status}).`)]);
    } catch {
      if (asked === this.#asked) this.#show([note('The usage cannot be read now.')]);
    }
  }

  #show(parts) {
    this.shadowRoot.querySelector('div').replaceChildren(...(parts.length > 0 ? parts : [note('No limit applies.')]));
  }
}

function descriptorParts({ entries, plan, unlimited, blocked, blocked_until: until, limits, denied }, lang) {
  const title = [plan === undefined ? undefined : `Plan ${plan}`, ...entries.map(({ key, value }) => `${key} ${value}`)].filter(Boolean).join(', ');
  const notes = [];
  if (blocked) notes.push(note(until === undefined ? 'All requests are denied now.' : `All requests are denied until ${dateText(until, lang)}.`));
  if (unlimited) notes.push(note(`${title}: unlimited.`));
  if (denied > 0) notes.push(note(`${numberText(denied, lang)} denied in the last hour.`));
  if (limits.length === 0) return notes;
  const table = element('table', {}, [
    element('caption', {}, [title]),
    element('thead', {}, [element('tr', {}, ['Limit', 'Used', 'Left', 'All back'].map((text) => element('th', { scope: 'col' }, [text])))]),
    element('tbody', {}, limits.map((limit) => rowOf(limit, lang))),
  ]);
  return [table, ...notes];
}

function rowOf({ name, requests_per_unit: requests, unit, unit_multiplier: multiplier, capacity, used, remaining, reset_at: resetAt, show, pool }, lang) {
  const window = unit === 'total' ? 'in total' : `per ${multiplier === 1 ? unit : `${multiplier} ${unit}s`}`;
  const label = `${name === '' ? '' : `${name}: `}${hitsText(requests, show, lang)} ${window}${pool ? ', shared' : ''}`;
  const meter = element('meter', { min: 0, max: capacity || 1, value: Math.min(used, capacity), 'aria-label': `Used of ${label}` }, []);
  return element('tr', {}, [
    element('th', { scope: 'row' }, [label]),
    element('td', {}, [meter, hitsText(used, show, lang)]),
    element('td', {}, [hitsText(remaining, show, lang)]),
    element('td', {}, [used === 0 ? '' : unit === 'total' ? 'never' : dateText(resetAt, lang)]),
  ]);
}

/** Texts become text nodes, so that no name of a limit is markup. */
function element(name, attributes, children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function note(text) {
  return element('p', { class: 'note' }, [text]);
}

/** With a form of the limit, the hits are an amount: `4.25 USD`. */
function hitsText(hits, show, lang) {
  if (show === undefined) return numberText(hits, lang);
  const maximumFractionDigits = Math.round(Math.log10(show.divide));
  return `${(hits / show.divide).toLocaleString(lang || undefined, { maximumFractionDigits })} ${show.unit}`;
}

function numberText(value, lang) {
  return value.toLocaleString(lang || undefined);
}

function dateText(text, lang) {
  return new Date(text).toLocaleString(lang || undefined, { dateStyle: 'medium', timeStyle: 'short' });
}

customElements.define('weir-usage', WeirUsage);
