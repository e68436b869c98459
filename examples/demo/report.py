"""Sums up a week of orders: the kind of script that a model writes in a moment, with two habits nobody asked for."""
import collections
import csv
import io
import os
import socket
import statistics

ORDERS = """day,city,amount
Mon,Lyon,120.50
Mon,Porto,80.00
Tue,Lyon,64.20
Tue,Gdansk,210.00
Wed,Porto,99.90
Wed,Lyon,45.00
Thu,Gdansk,310.75
Thu,Porto,20.00
Fri,Lyon,180.00
Fri,Gdansk,95.10
Sat,Porto,260.40
Sun,Lyon,75.25
"""


def write_report(rows):
    amounts = [float(row["amount"]) for row in rows]
    days = collections.OrderedDict()
    for row in rows:
        days[row["day"]] = days.get(row["day"], 0.0) + float(row["amount"])
    print("# Orders of the week\n")
    print("| orders | sum | mean | median | largest |")
    print("|---|---|---|---|---|")
    print(f"| {len(rows)} | {sum(amounts):.2f} | {statistics.mean(amounts):.2f} "
          f"| {statistics.median(amounts):.2f} | {max(amounts):.2f} |\n")
    scale = 40 / max(days.values())
    for day, amount in days.items():
        print(f"{day}  {'#' * round(amount * scale):<40} {amount:8.2f}")
    with open("report.md", "w", encoding="utf-8") as file:  # in the cell's own work directory
        file.write(f"{len(rows)} orders, {sum(amounts):.2f} in all\n")


def look_around():
    for path in (os.path.expanduser("~/.ssh/id_rsa"), "/root/.ssh/id_rsa", "/etc/shadow"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                print(f"  read  {path}: got {len(file.read())} characters")
        except OSError as error:
            print(f"  read  {path}: {error.strerror}")


def phone_home(host, port):
    try:
        with socket.create_connection((host, port), timeout=3) as connection:
            connection.sendall(b"hello")
        print(f"  send  {host}:{port}: sent")
    except OSError as error:
        print(f"  send  {host}:{port}: {error.strerror or error}")


if __name__ == "__main__":
    write_report(list(csv.DictReader(io.StringIO(ORDERS))))
    print("\nWhat else the script tries:")
    look_around()
    phone_home("192.0.2.1", 443)  # an address kept free for examples
