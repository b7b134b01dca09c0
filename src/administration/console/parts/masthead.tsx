/** The head of every page: name, navigation, theme, and who is signed in. */

import { linkTo } from '../api/route';
import { session, signOut } from '../api/session';
import { chooseTheme, theme, THEMES, type Theme } from '../api/theme';

interface MastheadProps {
  readonly pages: readonly { readonly name: string; readonly title: string }[];
  readonly current: string;
}

const THEME_WORDS: Readonly<Record<Theme, string>> = { system: 'System', light: 'Light', dark: 'Dark' };

export function Masthead({ pages, current }: MastheadProps) {
  const state = session.value;
  return (
    <header class="masthead">
      <a class="brand" href="#/" aria-label="Weir, to the overview">
        <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
          <path d="M1 5h18M1 10h8v6M13 10v6M13 10h6" />
        </svg>
        Weir
      </a>
      <nav aria-label="Pages">
        <ul>
          {pages.map(({ name, title }) => (
            <li key={name}>
              <a href={linkTo(name)} {...(name === current && { 'aria-current': 'page' as const })}>
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="who">
        <label class="theme">
          <span class="unseen">Theme</span>
          <select
            value={theme.value}
            onChange={({ currentTarget: { value } }) => {
              chooseTheme(THEMES.find((each) => each === value) ?? 'system');
            }}
          >
            {THEMES.map((each) => (
              <option key={each} value={each}>
                {THEME_WORDS[each]}
              </option>
            ))}
          </select>
        </label>
        {state.kind === 'signed-in' && (
          <span class="caller">
            <b>{state.name}</b> <span class="role">{state.role}</span>
          </span>
        )}
        {state.kind === 'signed-in' && state.needsSignIn && (
          <button type="button" class="quiet" onClick={() => void signOut()}>
            Sign out
          </button>
        )}
      </div>
    </header>
  );
}
