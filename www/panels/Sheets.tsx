/** What lies over the page, one at a time; the code of each comes when it is first opened. */
import { lazy, Match, Suspense, Switch } from "solid-js";
import type { Sheet } from "../state/panels";
import { useApp } from "./context";
import { late } from "./late";
import { Part } from "./Part";

const Help = lazy(() => import("./Help"));
const Matrix = lazy(() => import("./Matrix"));
const Compare = lazy(() => import("./Compare"));
const LessonList = lazy(() => import("../lessons/LessonList"));
const Palette = late(() => import("./Palette"));

export function Sheets() {
  const app = useApp();
  const { sheet, open } = app.panels;
  const is = (name: Sheet["name"]) => sheet()?.name === name;
  /** Closes it, unless it has made way for another. */
  const closer = (name: Sheet["name"]) => () => is(name) && open(null);
  const levels = () => {
    const now = sheet();
    return now?.name === "compare" ? now.levels : undefined;
  };
  return (
    <Switch>
      <Match when={is("help")}>
        <Part>
          <Help onClose={closer("help")} />
        </Part>
      </Match>
      <Match when={is("matrix")}>
        <Suspense>
          <Matrix
            onClose={closer("matrix")}
            onCompare={(levels) => open({ name: "compare", levels })}
          />
        </Suspense>
      </Match>
      <Match when={levels()}>
        {(chosen) => (
          <Suspense>
            <Compare levels={chosen()} onClose={closer("compare")} />
          </Suspense>
        )}
      </Match>
      <Match when={is("lessons")}>
        <Part>
          <LessonList onClose={closer("lessons")} />
        </Part>
      </Match>
      <Match when={is("palette")}>
        <Suspense>
          <Palette onClose={closer("palette")} />
        </Suspense>
      </Match>
    </Switch>
  );
}
