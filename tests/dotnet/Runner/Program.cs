using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;

namespace Runner
{
    /// <summary>
    /// Runner LIST: checks the stand-in itself, then every case of the list, and ends with the line that all test programs
    /// end with. One case a line, fields separated by tabs: name, type, prefix, folder of the generated file and its
    /// assets, folder of the numbers (see <see cref="Case"/>), style. A line "name, fail|skip, why" is only counted.
    /// </summary>
    static class Program
    {
        static int passed, failed, skipped;

        static int Main(string[] arguments)
        {
            if (arguments.Length != 1)
            {
                Console.Error.WriteLine("Runner LIST");
                return 2;
            }
            foreach (KeyValuePair<string, Action> test in RuntimeTests.All)
                Try("Runtime." + test.Key, () => { test.Value(); return ""; });
            foreach (string line in File.ReadAllLines(arguments[0]))
            {
                string[] field = line.Split('\t');

                if (field.Length == 6)
                    Try(field[0], () => new Case(field[1], field[2], field[3], field[4], int.Parse(field[5])).Check());
                else if (field.Length == 3 && field[1] == "fail")
                    Count(ref failed, field[0] + ": FAIL " + field[2]);
                else if (field.Length == 3 && field[1] == "skip")
                    Count(ref skipped, field[0] + ": SKIP (" + field[2] + ")");
                else
                    Count(ref failed, "FAIL not a line of a list: " + line);
            }
            Console.WriteLine(passed + " passed, " + failed + " failed, " + skipped + " skipped");
            return failed > 0 ? 1 : 0;
        }

        static void Try(string name, Func<string> test)
        {
            try
            {
                string figures = test();
                Count(ref passed, name + ": ok" + (figures == "" ? "" : " " + figures));
            }
            catch (Exception e)
            {
                while (e is TargetInvocationException && e.InnerException != null)
                    e = e.InnerException;
                Count(ref failed, name + ": FAIL " + e.Message + (e is CheckException ? "" : "\n" + e));
            }
        }

        static void Count(ref int counter, string line)
        {
            counter++;
            Console.WriteLine(line);
        }
    }

    /// <summary>What was computed is not what it should be.</summary>
    sealed class CheckException : Exception
    {
        public CheckException(string why) : base(why)
        {
        }
    }
}
