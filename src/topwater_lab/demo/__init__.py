"""The demo: who is mentioned most while their following grows, on Spark, with 7 look-ups a window.

It runs a query with a remote part on Spark, against a real service that limits how often it may be
asked, and shows as windows close how right the answers are beside what others would have answered
with the same number of look-ups. In the end it writes a report.
"""
